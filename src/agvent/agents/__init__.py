"""Agvents as data: a class becomes a type and a portable program; programs, their calls, signatures and secrets.

Nothing here starts a process. Randomness, time and keys come in as arguments. The one thing that is read is the text of
a class's methods, when the class is defined: Python keeps it in the file the class was written in.

Layers, lowest first; each imports only from those before it:

    secrecy     hidden and sealed fields, and paused programs on their way between hosts
    travel      a stop of a self-routing agvent, the manager agent and its messages
    authoring   a class to its type and program, an instance to its event; needs `secrecy` only
    execution   programs as they run: the sandbox's interface, answers, quarantine, resident agvents
"""
