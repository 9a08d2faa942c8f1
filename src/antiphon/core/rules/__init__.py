"""What follows from what: functions of the floor.

A module holds the facts of its matter (`conversation.ROUTES` says which function takes a fact: it changes the state of
one owner) and its rules (`conversation.follow` lists them: each does what is due, if it may be done now, and says
whether it did).
"""
