"""Other frameworks' programs on this one."""
