"""What a witness makes of what came."""

from __future__ import annotations

import pytest

from agvent.demo.verdict import Due, WitnessTally, tally

DUE = [Due("house", number, "shop/wish") for number in (1, 2, 3)]
OTHER = Due("house", 1, "other/wish")


@pytest.mark.parametrize(
    ("came", "found"),
    [
        (DUE, WitnessTally(expected=3, delivered=3, lost=0, duplicated=0, unexpected=0, out_of_order=0)),
        (DUE[:2], WitnessTally(expected=3, delivered=2, lost=1, duplicated=0, unexpected=0, out_of_order=0)),
        ([*DUE, DUE[2]], WitnessTally(expected=3, delivered=4, lost=0, duplicated=1, unexpected=0, out_of_order=0)),
        ([*DUE, OTHER], WitnessTally(expected=3, delivered=4, lost=0, duplicated=0, unexpected=1, out_of_order=0)),
        (
            [DUE[2], DUE[0], DUE[1]],
            WitnessTally(expected=3, delivered=3, lost=0, duplicated=0, unexpected=0, out_of_order=2),
        ),
    ],
    ids=["whole", "lost", "duplicated", "unexpected", "out of order"],
)
def test_each_defect_is_counted_as_one(came: list[Due], found: WitnessTally) -> None:
    """A delivery that is missing, comes twice, is nobody's wish or comes too late in its order is one defect."""
    assert tally(DUE, came) == found
    assert found.is_clean == (came == DUE)
