"""Tools: arguments, schemas, results, policies."""
