"""How the tree measures, and the bars it is held to."""
