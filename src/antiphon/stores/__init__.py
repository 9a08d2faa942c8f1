"""The stores that come along: memory, SQLite, PostgreSQL.

Above: the shells, which find them by the scheme of an address (`antiphon.store.open_store`). Below: the contract.
"""
