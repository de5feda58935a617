"""The command line: one file per subcommand, and nothing imports it.

Rules of this room: results go to standard output, everything else to standard error. A mistake of the user ends in
`error:` and perhaps `hint:`, never in a traceback; main.py turns errors into exit codes. Commands use the library
through the front door `agvent`, so that what they do not need is not imported.
"""
