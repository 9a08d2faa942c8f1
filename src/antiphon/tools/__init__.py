"""What the model can call: definition, schema, policy and containers of tools.

`function` defines tools, `toolset` holds them, `policy` says how their calls are treated, `results` renders what they
return. `signature`, `docs`, `schema`, `arguments` and `complaints` are the parts of a definition.
"""
