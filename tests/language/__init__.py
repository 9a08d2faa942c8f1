"""Language packs: what a reply to a read-back means."""
