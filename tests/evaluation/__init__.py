"""Cases for agents: what a file may say, the calls that are made of it, and how sure their figures are."""
