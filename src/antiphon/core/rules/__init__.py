"""What follows from what: functions of the floor.

A module holds the facts of its matter (`conversation.ROUTES` says which function takes a fact: it changes the state of
one owner) and its rules (`conversation.RULES` lists them: each looks at the floor, does what is due, and says whether
it did anything).
"""
