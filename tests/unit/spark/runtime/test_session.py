"""Masters that are refused before Spark is started."""

from __future__ import annotations

import socket
import time

import pytest

from agvent import limits
from agvent.errors import CallerError, SparkFault
from agvent.spark.runtime.session import check_answers, session


@pytest.mark.parametrize("master", ["mesos://head", "lokal", "spark:/head:7077", "head:7077"])
def test_what_names_no_master_is_refused(master: str) -> None:
    """The error says which forms there are."""
    with pytest.raises(CallerError, match="is not the address of a Spark master"):
        session(master)


@pytest.mark.parametrize("scheme", ["spark", "sc"])
def test_a_dead_master_is_reported_at_once(scheme: str) -> None:
    """Nobody listens at the address: the error comes within the bound, and names it."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    began = time.monotonic()
    with pytest.raises(SparkFault) as caught:
        session(f"{scheme}://127.0.0.1:{port}")
    assert time.monotonic() - began < limits.MASTER_ANSWER_SECONDS_MAX + 1
    assert caught.value.message == (
        f"no Spark master answers at {scheme}://127.0.0.1:{port}: 127.0.0.1:{port} Connection refused"
    )


def test_one_of_several_masters_is_enough() -> None:
    """A standby master may be down while the other answers; a Connect address may have options behind it."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        check_answers(f"spark://127.0.0.1:1,127.0.0.1:{port}")
        check_answers(f"sc://127.0.0.1:{port}/;user_id=ada")


def test_an_address_without_a_number_is_refused() -> None:
    """A port that is no number is the caller's mistake."""
    with pytest.raises(CallerError, match="is not HOST:PORT"):
        check_answers("spark://head:http")
