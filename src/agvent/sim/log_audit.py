"""The rules of `agvent spark audit`, on the rows of a log in memory: docs/how-to/audit.md, in plain Python.

Which deliveries were due is computed anew, from events, versions in force and answers alone, and compared with those
that were made. Nothing of the world is asked. tests/integration/spark/test_simulated.py holds it against Spark's.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from agvent.chronicle.chronicle import MOVE_SHIFT
from agvent.chronicle.log_rows import Row
from agvent.errors import TranslationError
from agvent.event import EventId, Value
from agvent.filters.evaluate import evaluate
from agvent.filters.languages import parse
from agvent.filters.sql_format import format_expression
from agvent.filters.subscription import Subscription
from agvent.filters.tree import Attribute, Call, Condition, Literal
from agvent.sim.memory_log import MemoryLog
from agvent.store.catalogue import subscription_in
from agvent.store.event_columns import LoggedEvent
from agvent.store.values import decode_value

NEVER = 1 << 62


class LoggedVersion(NamedTuple):
    """A version of a subscription, and where in its home's stream it was in force."""

    home: str
    subscription: str
    version: int
    opened: int
    closed: int
    subscriber: str
    said: Subscription
    condition: Condition


class LogCopy(NamedTuple):
    """An event as one entry broker accepted it."""

    entry: str
    epoch: int


class AuditDefect(NamedTuple):
    """A delivery that is not as it should be: `lost`, `duplicated`, `unexpected` or `out_of_order`."""

    kind: str
    event: EventId
    subscription: str
    version: int
    home: str


class LogAudit:
    """What a log says that was due and was made. `copies` has the entries of each event."""

    def __init__(self, log: MemoryLog) -> None:
        self.log = log
        self.versions = _versions(log)
        self._of_subscription: dict[str, list[LoggedVersion]] = defaultdict(list)
        self._homes: dict[str, set[str]] = defaultdict(set)
        for one in (one for versions in self.versions.values() for one in versions):
            self._of_subscription[one.subscription].append(one)
            self._homes[one.subscriber].add(one.home)
        self.copies: dict[EventId, dict[LogCopy, LoggedEvent]] = defaultdict(dict)
        for _, logged in log.events:
            assert logged.event.id is not None
            self.copies[EventId(*logged.event.id)][LogCopy(logged.entry_broker, logged.epoch)] = logged
        self._steps = _steps(log)
        self._answers = _answers(log)
        self._in_force: dict[LogCopy, list[LoggedVersion]] = {}

    def defects(self) -> list[AuditDefect]:
        """Everything that broke the promise."""
        made: dict[EventId, list[Row]] = defaultdict(list)
        for row in self.log.of("deliveries"):
            made[EventId(row["publisher"], row["sequence"])].append(row)
        gaps = _Gaps(self.log.of("gaps"))
        found: list[AuditDefect] = []
        met: list[Row] = []
        for event in dict.fromkeys((*self.copies, *made)):
            rows = made.get(event, [])
            due = self._due(event, rows, gaps)
            found += _not_due(event, due, rows, met)
            found += (lost for lost in _lost(event, due, rows) if not gaps.names(lost))
        single = [row for row in met if len(self.copies[EventId(row["publisher"], row["sequence"])]) == 1]
        return [*found, *_out_of_order(single)]

    def in_force(self, copy: LogCopy) -> list[LoggedVersion]:
        """The versions in force where and when a copy entered."""
        if copy not in self._in_force:
            found: list[LoggedVersion] = []
            for home in self._steps.get(copy.entry, {}):
                applied = self._applied(copy, home)
                found += (one for one in self.versions.get(home, ()) if one.opened <= applied < one.closed)
            self._in_force[copy] = found
        return self._in_force[copy]

    def _due(self, event: EventId, made: list[Row], gaps: _Gaps) -> list[LoggedVersion]:
        """To whom an event was due. Of one that entered twice, each home is judged by the copy that is nearest to what
        it delivered."""
        copies = self.copies.get(event, {})
        due = {copy: [*self._due_by(copy, copies, made)] for copy in copies}
        if len(copies) < 2:
            return [one for versions in due.values() for one in versions]
        weights = {one[:3]: _difference(event, one, made, gaps) for versions in due.values() for one in versions}
        accepted = {copy: logged.accepted_at for copy, logged in copies.items()}
        homes = dict.fromkeys(home for home, _, _ in weights)
        return [one for home in homes for one in _nearest(home, due, weights, made, accepted)]

    def _due_by(self, copy: LogCopy, copies: dict[LogCopy, LoggedEvent], made: list[Row]) -> Iterator[LoggedVersion]:
        """To whom an event was due by one copy."""
        logged = copies[copy]
        others = [other for other in copies if other.entry != copy.entry]
        rows = {(row["home_broker"], row["subscription"], row["version"]) for row in made}
        for one in self.in_force(copy):
            is_made = one[:3] in rows
            if (is_made or not self._is_answered_before(copy, one, others)) and self._is_for(logged, one):
                yield one
        here = {
            (row["subscription"], row["version"])
            for row in made
            if (row["home_broker"], row["entry_broker"], row["epoch"]) == (copy.entry, *copy)
        }
        yield from (one for key in sorted(here) for one in self._left(copy, *key) if self._is_for(logged, one))

    def _is_answered_before(self, copy: LogCopy, one: LoggedVersion, others: list[LogCopy]) -> bool:
        """Did a late copy, of an event that entered before a version opened, find it with a client that had moved? The
        home before answers for it, perhaps by another filter."""
        is_from_elsewhere = copy.entry == one.home and len(self._homes[one.subscriber]) > 1
        return is_from_elsewhere and any(self._applied(other, one.home) < one.opened for other in others)

    def _left(self, copy: LogCopy, subscription: str, version: int) -> Iterator[LoggedVersion]:
        """The version of a delivery, if its client, which had moved on, had left it at the home to which the event came
        late. The client may be back since, with other versions."""
        applied = self._applied(copy, copy.entry)
        ours = [one for one in self._of_subscription[subscription] if one.home == copy.entry]
        opened = sorted((one for one in ours if one.opened <= applied), key=lambda one: one.opened)
        for at, one in enumerate(opened):
            if one.version == version and one.closed <= applied and self._is_last(one, opened[at + 1 :]):
                yield one

    def _is_last(self, one: LoggedVersion, later: list[LoggedVersion]) -> bool:
        """Is a version the last of a stay at its home? The client numbers its versions wherever it is: the next one
        here is of another stay if there was one elsewhere in between."""
        if not later:
            return True
        between = range(one.version + 1, later[0].version)
        return any(two.home != one.home and two.version in between for two in self._of_subscription[one.subscription])

    def _applied(self, copy: LogCopy, home: str) -> int:
        """Up to which position of a home's stream an entry had applied it."""
        epochs, positions = self._steps.get(copy.entry, {}).get(home, ([], []))
        return max(positions[: bisect_right(epochs, copy.epoch)], default=0)

    def _is_for(self, logged: LoggedEvent, one: LoggedVersion) -> bool:
        if logged.destinations and one.subscriber not in logged.destinations:
            return False
        answers = self._answers.get((*logged.event.id, logged.entry_broker)) if logged.event.id else None
        if evaluate(one.condition, logged.event, answers) is not True:
            return False
        return not logged.to or evaluate(parse(logged.to), one.said.context or {}) is True


def _difference(event: EventId, one: LoggedVersion, made: list[Row], gaps: _Gaps) -> int:
    """What a due delivery says of the copy that it is due by: -1 if it was made, 1 if it is missing."""
    if any((row["subscription"], row["version"]) == (one.subscription, one.version) for row in made):
        return -1
    is_explained = any(row["subscription"] == one.subscription for row in made)
    return 0 if is_explained or gaps.names(_defect("lost", event, one)) else 1


def _nearest(
    home: str,
    due: dict[LogCopy, list[LoggedVersion]],
    weights: dict[tuple[str, str, int], int],
    made: list[Row],
    accepted: dict[LogCopy, datetime],
) -> list[LoggedVersion]:
    """The due deliveries of one home, by the copy with the fewest differences to what it delivered. A copy without any
    has none."""
    at_home = {copy: [one for one in versions if one.home == home] for copy, versions in due.items()}
    ranks = {
        copy: (
            sum(weights[one[:3]] for one in versions),
            -sum((row["home_broker"], row["entry_broker"], row["epoch"]) == (home, *copy) for row in made),
            accepted[copy],
            copy,
        )
        for copy, versions in at_home.items()
        if versions
    }
    best = min(ranks.values())
    if best[0] > 0 and len(ranks) < len(due):
        return []
    return at_home[best[-1]]


def _defect(kind: str, event: EventId, one: LoggedVersion) -> AuditDefect:
    return AuditDefect(kind, event, one.subscription, one.version, one.home)


def _not_due(event: EventId, due: list[LoggedVersion], made: list[Row], met: list[Row]) -> Iterator[AuditDefect]:
    """Deliveries that were not due, and those after the first; the others are added to `met`."""
    wanted = {(one.subscription, one.version) for one in due}
    had: set[str] = set()
    for row in sorted(made, key=lambda row: (row["position"], row["version"])):
        subscription, version = row["subscription"], row["version"]
        if (subscription, version) not in wanted:
            yield AuditDefect("unexpected", event, subscription, version, row["home_broker"])
        elif subscription in had:
            yield AuditDefect("duplicated", event, subscription, version, row["home_broker"])
        else:
            had.add(subscription)
            met.append(row)


def _lost(event: EventId, due: list[LoggedVersion], made: list[Row]) -> Iterator[AuditDefect]:
    """Deliveries that were due and not made; of several versions of a subscription one counts."""
    wanted = {(one.subscription, one.version) for one in due}
    had = {row["subscription"] for row in made if (row["subscription"], row["version"]) in wanted}
    for one in sorted(due, key=lambda one: one.version):
        if one.subscription not in had:
            had.add(one.subscription)
            yield _defect("lost", event, one)


def _out_of_order(met: list[Row]) -> Iterator[AuditDefect]:
    """Of events that entered once, by the positions of one stay at a home: the next home's come after them, though what
    waited there may go in between. There is no order between two entries."""
    last: dict[tuple[str, str, str, int], int] = {}
    for row in sorted(met, key=lambda row: (row["subscription"], row["position"])):
        key = (row["subscription"], row["publisher"], row["entry_broker"], row["position"] >> MOVE_SHIFT)
        if row["sequence"] < last.get(key, 0):
            event = EventId(row["publisher"], row["sequence"])
            yield AuditDefect("out_of_order", event, row["subscription"], row["version"], row["home_broker"])
        last[key] = max(row["sequence"], last.get(key, 0))


class _Gaps:
    """The gaps of a log, by home and subscription; None stands for every one."""

    def __init__(self, rows: list[Row]) -> None:
        self._rows: dict[tuple[str, str | None], list[Row]] = defaultdict(list)
        for row in rows:
            self._rows[row["home_broker"], row["subscription"]].append(row)

    def names(self, lost: AuditDefect) -> bool:
        rows = (*self._rows.get((lost.home, lost.subscription), ()), *self._rows.get((lost.home, None), ()))
        return any(_is_in(row, lost.event) for row in rows)


def _is_in(gap: Row, event: EventId) -> bool:
    if gap["publisher"] is not None and gap["publisher"] != event.publisher:
        return False
    last: int | None = gap["last_sequence"]
    return (gap["first_sequence"] or 0) <= event.sequence <= (NEVER if last is None else last)


def _versions(log: MemoryLog) -> dict[str, list[LoggedVersion]]:
    """By home, the versions that its stream opened."""
    spans: dict[tuple[str, str, int], tuple[int, int]] = {}
    for row in log.of("changes"):
        key = (row["home_broker"], row["subscription"], row["version"])
        if row["change"] == "open":
            spans[key] = (row["position"], NEVER)
        elif row["change"] == "close" and key in spans:
            spans[key] = (spans[key][0], row["position"])
    found: dict[str, list[LoggedVersion]] = defaultdict(list)
    for row in log.of("subscriptions"):
        key = (row["home_broker"], row["subscription"], row["version"])
        if key in spans:
            said = subscription_in(row)
            found[row["home_broker"]].append(
                LoggedVersion(*key, *spans.pop(key), row["subscriber"], said, said.condition())
            )
    return found


def _steps(log: MemoryLog) -> dict[str, dict[str, tuple[list[int], list[int]]]]:
    """For each entry and home the epochs at which more was applied, and up to which position."""
    found: dict[str, dict[str, tuple[list[int], list[int]]]] = defaultdict(dict)
    for row in sorted(log.of("epochs"), key=lambda row: int(row["epoch"])):
        epochs, positions = found[row["entry_broker"]].setdefault(row["home_broker"], ([], []))
        epochs.append(row["epoch"])
        positions.append(row["position"])
    return found


class _LoggedAnswers:
    """What the behaviours of an event answered, by the call as SQL has it. One with a fault is unknown."""

    opaque = None

    def __init__(self) -> None:
        self.results: dict[str, str] = {}

    def __call__(self, name: str, args: tuple[Value, ...]) -> Value:
        try:
            asked = tuple(Attribute(("null",)) if arg is None else Literal(arg) for arg in args)
            text = format_expression(Call(name, asked))
        except TranslationError:
            return None
        return decode_value(self.results[text]) if text in self.results else None


def _answers(log: MemoryLog) -> dict[tuple[str, int, str], _LoggedAnswers]:
    found: dict[tuple[str, int, str], _LoggedAnswers] = defaultdict(_LoggedAnswers)
    for row in log.of("behaviours"):
        if row["fault"] is None and row["result"] is not None:
            answers = found[row["publisher"], row["sequence"], row["entry_broker"]]
            answers.results[row["call"]] = row["result"]
    return dict(found)
