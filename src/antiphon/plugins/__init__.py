"""Model vendors under the names that agent files import: thin, over `antiphon.providers`."""
