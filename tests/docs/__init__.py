"""The site: its code runs, its table of the documents is whole, and what is searched for is found."""
