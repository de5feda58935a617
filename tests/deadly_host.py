"""A sandbox host that dies of whatever eve asks for, with all that is under way: `python -m tests.deadly_host`."""

from __future__ import annotations

import os
import sys
from threading import Timer
from typing import IO

from agvent.sandbox.pipe_messages import HostRan, HostReady, HostRun, read, write
from agvent.wire.parts import Answered

DEATH_SECONDS, REPLY_SECONDS = 0.2, 0.3
"""A request that came with eve's has no reply yet when the host dies."""


def main(requests: IO[bytes], replies: IO[bytes]) -> None:
    """Answers every call of the others with 1."""
    write(replies, HostReady(read(requests).number, b""))
    while (request := read(requests)) is not None:
        assert isinstance(request, HostRun)
        if any(task.principal == "eve" for task in request.tasks):
            Timer(DEATH_SECONDS, os._exit, (1,)).start()
        else:
            answers = tuple(tuple(Answered(call, 1) for call in task.calls) for task in request.tasks)
            reply = HostRan(request.number, answers)
            Timer(REPLY_SECONDS, write, (replies, reply)).start()


if __name__ == "__main__":
    main(sys.stdin.buffer, sys.stdout.buffer)
