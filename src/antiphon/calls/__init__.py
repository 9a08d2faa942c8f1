"""What every shell needs to hold a call: its models, its start, its record, its report, its end."""
