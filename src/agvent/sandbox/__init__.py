"""The sandbox host: programs of strangers in worker processes with limits.

Rules of this room: a worker's session is of one program and one principal; whatever a worker gives is judged before it
leaves; a worker that dies, hangs or lies is a fault of the program in it and of nothing else. The simulator never
imports this room.
"""
