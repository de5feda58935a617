"""The tables of a run: by room, and each mutant with what found it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import median

from page import table
from tests.mutants.catalogue import Mutant
from tests.mutants.results import Result


def report(mutants: Sequence[Mutant], results: Mapping[str, Result]) -> str:
    """Markdown about the mutants that have a result, and those that are not hunted."""
    known = [results[one.name] for one in mutants if is_hunted(one, results)]
    parts = [_by_room(mutants, results), _by_checker(known), _each(known)]
    if equivalent := [one for one in mutants if one.equivalent]:
        parts.append("Not hunted, because nobody can see the change:")
        parts.append("\n".join(f"- **{one.name}** ({one.file}): {one.equivalent}" for one in equivalent))
    return "\n\n".join(parts)


def is_hunted(mutant: Mutant, results: Mapping[str, Result]) -> bool:
    """Does its result count? That of one that was found to be equivalent later does not."""
    return mutant.name in results and not mutant.equivalent


def _by_room(mutants: Sequence[Mutant], results: Mapping[str, Result]) -> str:
    rooms = {one.room: [other for other in mutants if other.room == one.room] for one in mutants}
    rows = [_row(room, here, results) for room, here in sorted(rooms.items())]
    rows.append(_row("**all**", mutants, results))
    headings = ["room", "mutants", "equivalent", "hunted", "found", "", "seeds, median", "most", "CPU s", "by tests"]
    return table([*headings, "survivors"], rows)


def _row(room: str, mutants: Sequence[Mutant], results: Mapping[str, Result]) -> list[str]:
    known = [results[one.name] for one in mutants if is_hunted(one, results)]
    found = [one for one in known if one.is_found]
    survived = [one for one in known if not one.is_found]
    tested = [one for one in survived if one.tested is not None and one.tested.failed]
    seeds = [one.hunt.seeds for one in found]
    return [
        room,
        str(len(mutants)),
        str(sum(bool(one.equivalent) for one in mutants)),
        str(len(known)),
        str(len(found)),
        f"{len(found) / max(1, len(known)):.0%}",
        f"{median(seeds):.0f}" if seeds else "–",
        str(max(seeds)) if seeds else "–",
        f"{sum(one.hunt.cpu_s for one in known):,.0f}",
        str(len(tested)) if any(one.tested for one in survived) else "–",
        str(len(survived) - len(tested)),
    ]


def _by_checker(results: Sequence[Result]) -> str:
    counts = Counter(one.hunt.checker for one in results if one.is_found)
    return f"Found by: {', '.join(f'{checker} {count}' for checker, count in counts.most_common()) or 'nothing'}."


def _each(results: Sequence[Result]) -> str:
    headings = ["mutant", "file", "found by", "seeds", "CPU s"]
    rows = [
        [one.name, one.file, found_by(one), str(one.hunt.seeds), f"{one.hunt.cpu_s:,.1f}"]
        for one in sorted(results, key=lambda one: (one.file, one.name))
    ]
    return table(headings, rows)


def found_by(result: Result) -> str:
    """The checker, else the test, else that it survived."""
    if result.is_found:
        return result.hunt.checker
    if result.tested is not None and result.tested.failed:
        return f"`{result.tested.failed}`"
    is_cut = result.hunt.is_cut or (result.tested is not None and result.tested.is_cut)
    return "nothing in its time" if is_cut else "**nothing**"
