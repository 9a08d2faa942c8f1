"""What the model can call: definition, schema, policy and containers of tools."""
