"""Only the tables change what is in the tables: outside of `broker/tables/` nobody assigns to theirs."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.test_rooms import SOURCE

BROKER = SOURCE / "broker"

ALLOWED: dict[tuple[str, str], str] = {
    ("broker.py", "self.out.works"): "the broker fills the outbox's table when its parts are there",
    ("broker.py", "self.router.boot"): "the router is no table; it numbers its broadcasts by the boot",
    ("broker.py", "self.router.rtts"): "the router is no table; what the driver measured before a Hello came",
    ("events/entry.py", "entering"): "EventEntry's own: an event that waits for its turn is in no table yet",
    ("interest/requests.py", "asked"): "Requests' own: a client that comes back asks again",
    ("interest/streams.py", "stream"): "Streams' own: what an entry has is computed again after a restart",
    ("interest/streams.py", "self.streams"): "the same",
}
"""Who may assign to an attribute of what: an exact target, or the name of a variable or attribute that holds it."""


def _targets(target: ast.expr) -> Iterator[ast.expr]:
    if isinstance(target, ast.Tuple | ast.List):
        for element in target.elts:
            yield from _targets(element)
    elif isinstance(target, ast.Starred):
        yield from _targets(target.value)
    else:
        yield target


def _without_places(target: ast.expr) -> ast.expr:
    """`a.b` of `a.b[c][d]`."""
    while isinstance(target, ast.Subscript):
        target = target.value
    return target


def foreign_assignments(source: str) -> Iterator[tuple[int, str, str]]:
    """Each assignment to an attribute that is not the object's own, or to a place in one: its line, the attribute, and
    what it is an attribute of."""
    for node in ast.walk(ast.parse(source)):
        given: list[ast.expr] = []
        if isinstance(node, ast.Assign | ast.Delete):
            given = node.targets
        elif isinstance(node, ast.AugAssign | ast.AnnAssign):
            given = [node.target]
        for target in (one for some in given for one in _targets(some)):
            attribute = _without_places(target)
            if isinstance(attribute, ast.Attribute) and ast.unparse(attribute.value) != "self":
                yield attribute.lineno, ast.unparse(attribute), ast.unparse(_without_places(attribute.value))


FILES = [file for file in sorted(BROKER.rglob("*.py")) if BROKER / "tables" not in file.parents]


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(BROKER)))
def test_only_the_tables_change_what_is_in_them(file: Path) -> None:
    """A part outside of the tables changes them by a record or by a named method."""
    name = str(file.relative_to(BROKER))
    found = [
        f"{name}:{line} {attribute}"
        for line, attribute, holder in foreign_assignments(file.read_text())
        if (name, attribute) not in ALLOWED and (name, holder) not in ALLOWED
    ]
    assert found == []


def test_every_exception_is_needed() -> None:
    """The list of allowed assignments has no entry that nothing uses."""
    used = {
        (str(file.relative_to(BROKER)), one)
        for file in FILES
        for _, attribute, holder in foreign_assignments(file.read_text())
        for one in (attribute, holder)
    }
    assert [one for one in ALLOWED if one not in used] == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("held.ready, held.since = True, now", ["held.ready", "held.since"]),
        ("self.tables.fast_lost[reason] += 1", ["self.tables.fast_lost"]),
        ("custody.held[key].copies[home].again = True", ["custody.held[key].copies[home].again"]),
        ("del client.durable.waiting[number]", ["client.durable.waiting"]),
        ("for one in ones:\n    one.due: int = 0", ["one.due"]),
        ("self._stirred = True\nself._passed[neighbour] = {}\nnow = held.since\nfound[key] = now", []),
    ],
)
def test_an_assignment_from_outside_is_seen(source: str, found: list[str]) -> None:
    """The check sees assignments of every form, to items and in pairs too, and leaves an object's own alone."""
    assert [attribute for _, attribute, _ in foreign_assignments(source)] == found
