"""The names that the rows of an index read: what an event need not have, because nobody asks for it, is not here."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from agvent.event import TYPES
from agvent.filters.tree import Attribute, Condition, IsA, XPath, walk
from agvent.matching.rows.row_store import NO_RESIDUAL, RowStore


def names_read(store: RowStore) -> set[str]:
    """The first names of all paths: those of the slots, and those that only the oracle looks at."""
    names = {str(path[0]) for path in store.slots.fields}
    asked = store.rows["residual"][: store.row_count]
    for residual in np.unique(asked[asked != NO_RESIDUAL]).tolist():
        names.update(_names(store.residuals[residual]))
    return {"$type" if name == TYPES else name for name in names}


def _names(condition: Condition) -> Iterator[str]:
    for node in walk(condition):
        match node:
            case Attribute(path):
                yield str(path[0])
            case XPath():
                yield "$xml"
            case IsA():
                yield "$type"
            case _:
                pass
