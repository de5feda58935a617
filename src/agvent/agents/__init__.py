"""Agvents as data: a class becomes a type and a portable program; programs, their calls, signatures and secrets.

Nothing here starts a process. Randomness, time and keys come in as arguments. The one thing that is read is the text of
a class's methods, when the class is defined: Python keeps it in the file the class was written in.
"""
