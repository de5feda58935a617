"""What goes over a link: messages, their bytes, and the numbering that makes a lossy link a good one.

Pure: bytes come in and go out as values, and time is an argument. Everything read from a peer is bounded before it is
read, and is legal or raises a WireError and changes nothing.
"""
