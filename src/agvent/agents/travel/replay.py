"""A paused program as the replies that it has had. A program is deterministic: given them again, it comes to the line
where it moved.

For trusted programs, which run in this process, where Python cannot take a running function along.
"""

from __future__ import annotations

from typing import Any

from agvent.agents.travel.manager_agent import ManagerAgent
from agvent.wire.codec import decode_value, encode_value


class ProgramMoved(BaseException):
    """Leaves the program where it moves; not an Exception, which the program could catch. Never leaves its sandbox."""


class Replay:
    """The talk of an agvent over all its stops so far. `first` is the broker where it began."""

    def __init__(self, agent: ManagerAgent, snapshot: bytes) -> None:
        self.agent = agent
        self.first, self._replies = agent.surroundings.server, []
        if snapshot:
            self.first, self._replies = decode_value(snapshot)
            self._replies.append(encode_value(agent.welcome()))
        self._given = 0

    def say(self, message: Any) -> Any:
        """The next reply: one that was given at an earlier stop, or the manager agent's of this one."""
        if self._given == len(self._replies):
            reply = self.agent.reply(message)
            if self.agent.moving:
                raise ProgramMoved
            if self.agent.is_tired:
                raise RuntimeError("too many messages to the manager agent")
            self._replies.append(encode_value(reply))
        self._given += 1
        return decode_value(self._replies[self._given - 1])  # a copy: a program may change what it is given

    def snapshot(self) -> bytes:
        """What another stop needs to go on from here."""
        return encode_value((self.first, self._replies))
