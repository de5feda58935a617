"""Every error Agvent raises.

AgventError
├── CallerError            the caller's mistake: says what, where and what to do instead
│   ├── FilterError        a filter text that cannot be read: line, column, caret, hint
│   ├── EventError         an event that is not an event: the value and the path to it
│   ├── SubscriptionError  an id that is taken, unknown or malformed
│   ├── TranslationError   a tree that the asked language cannot express
│   ├── ProgramError       a class that cannot become an agvent: the line, and what to write instead
│   ├── DeniedError        something that a principal was not granted
│   ├── RefusedError       publications that a broker refused, and why each
│   └── LogError           rows that do not fit the event log, or a log that cannot be opened as asked
└── EnvironmentFault       the machine's or a peer's: a file that is missing, torn or of another version
    ├── IndexFileError     a saved index that cannot be used
    ├── JournalError       a journal that is damaged, or that another process has open
    │   └── JournalFull    no room on its disk
    ├── ForgottenError     a broker whose network goes on without it, because an operator said that it never returns
    ├── LogFileError       a file of an event log that is missing, torn or altered
    ├── NetworkFault       a broker that cannot be reached, turns a client away, or goes
    ├── SparkFault         Spark or its Java that is missing, does not start, or failed at a job
    ├── SandboxFault       a sandbox host or its workers that do not start or do not answer
    ├── AdmissionError     code or an agvent that is not let in: hash, signature, grant, quarantine
    ├── BehaviourError     a behaviour that a subscriber called and that gave no answer
    ├── SecretError        hidden or sealed bytes that this key does not open
    └── WireError          bytes from a peer that are no frame, message or event

Our own bugs are assertions and are never caught.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


class AgventError(Exception):
    """The root: `except AgventError` catches what Agvent reports and nothing else."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class CallerError(AgventError):
    """Something the caller can mend."""


class FilterError(CallerError):
    """A filter that does not parse, with the place where reading stopped."""

    def __init__(self, message: str, text: str, position: int, *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.text = text
        self.position = position
        before = text[:position]
        self.line = before.count("\n") + 1
        self.column = position - (before.rfind("\n") + 1) + 1

    def __str__(self) -> str:
        shown = self.text.split("\n")[self.line - 1]
        start = max(0, self.column - 61)
        # Control characters and lone surrogates would move the caret or break the terminal.
        shown = "".join(c if c.isprintable() else " " for c in shown[start : start + 100])
        caret = " " * (self.column - 1 - start) + "^"
        where = f"line {self.line}, column {self.column}: {self.message}\n  {shown}\n  {caret}"
        return f"{where}\nhint: {self.hint}" if self.hint else where


class EventError(CallerError):
    """A value that cannot be an event's."""


class SubscriptionError(CallerError):
    """An id that is taken, unknown or malformed."""


class TranslationError(CallerError):
    """A tree that the asked language cannot express."""


class ProgramError(CallerError):
    """A class that cannot become an agvent; `line` is where in its file, 0 if the class as a whole is meant."""

    def __init__(self, message: str, *, line: int = 0, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.line = line

    def __str__(self) -> str:
        where = f"line {self.line}: {self.message}" if self.line else self.message
        return f"{where}\nhint: {self.hint}" if self.hint else where


class DeniedError(CallerError):
    """Something that a principal may not do; the message says which grant or proof is missing."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"denied: {reason}")


class RefusedError(CallerError):
    """Publications that a broker rejected. `reasons` by their place among those published; `receipts` of the others."""

    def __init__(self, reasons: Mapping[int, str], receipts: Sequence[Any]) -> None:
        at, reason = next(iter(reasons.items()))
        more = f", and {len(reasons) - 1} others" if len(reasons) > 1 else ""
        super().__init__(
            f"rejected: {reason}" if len(receipts) + len(reasons) == 1 else f"rejected {at}: {reason}{more}"
        )
        self.reasons, self.receipts = reasons, receipts


class RequestRefusedError(CallerError):
    """A request that a broker rejected, and that changed nothing."""


class LogError(CallerError):
    """Rows that do not fit a table of the event log, or a log that cannot be opened as asked."""


class EnvironmentFault(AgventError):
    """Something outside this process is not as it must be."""


class IndexFileError(EnvironmentFault):
    """A saved index that is missing, torn, altered or of another version."""


class JournalError(EnvironmentFault):
    """A journal that is damaged where it had been safe, or that cannot be opened."""


class JournalFull(JournalError):
    """No room on the journal's disk; what could not be written was taken back."""


class ForgottenError(EnvironmentFault):
    """A broker that the others were told to forget: what it has goes nowhere, and nothing comes to it."""

    def __init__(self, broker: str) -> None:
        super().__init__(
            f"{broker!r} was forgotten, and the network goes on without it",
            hint="`agvent journal repair FOLDER` says what it still has; with --yes it joins as a new broker",
        )


class LogFileError(EnvironmentFault):
    """A head or segment of an event log that is missing, torn, altered or of another format."""


class NetworkFault(EnvironmentFault):
    """A broker that cannot be reached, that turns somebody away, or that went before it answered."""


class SparkFault(EnvironmentFault):
    """Spark, or the Java it runs on, is missing, does not start, or gave a job up."""


class SandboxFault(EnvironmentFault):
    """A sandbox host, or the workers it drives, that does not start or does not answer."""


class AdmissionError(EnvironmentFault):
    """Code or an agvent that is not let in: the hash, the signature, the grant or a quarantine says why."""


class BehaviourError(EnvironmentFault):
    """A behaviour that a subscriber called and that gave no answer; the message is its fault."""


class SecretError(EnvironmentFault):
    """Hidden or sealed bytes that were not made for this key, or were altered."""


class WireError(EnvironmentFault):
    """Bytes from a peer that are no frame, message or event."""
