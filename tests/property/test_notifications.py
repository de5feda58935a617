"""A notification of Elvin's survives being an event."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agvent.elvin import ElvinValue, event_of_notification, notification_of

TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=5)
NAMES = TEXTS.filter(lambda name: not name.startswith("$"))
VALUES = st.one_of(
    st.builds(ElvinValue, st.just("int32"), st.integers(-(2**31), 2**31 - 1)),
    st.builds(ElvinValue, st.just("int64"), st.integers(-(2**63), 2**63 - 1)),
    st.builds(ElvinValue, st.just("real64"), st.floats()),
    st.builds(ElvinValue, st.just("string"), TEXTS),
    st.builds(ElvinValue, st.just("opaque"), st.binary(max_size=5)),
)


@given(st.dictionaries(NAMES, VALUES, max_size=5))
def test_a_notification_round_trips(notification: dict[str, ElvinValue]) -> None:
    """Names, types and values come back, NaN and the sign of zero included."""
    back = notification_of(event_of_notification(notification))
    assert repr(back) == repr(notification)
