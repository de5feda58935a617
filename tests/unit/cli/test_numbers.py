"""Numbers among the arguments."""

from __future__ import annotations

import pytest

from agvent.cli.main import parser

BAD = ["0", "-5", "nan", "inf", "1e300", "soon"]

ABOVE_ZERO = {
    "keys client nowhere ada --days": "36,500",
    "keys token nowhere ada --days": "36,500",
    "log follow nowhere --every": "86,400",
    "log follow nowhere --keep-hours": "876,000",
    "up --log --keep-hours": "876,000",
    "discover //a --wait": "86,400",
}

WHOLE = {
    "up --brokers": "1 to 10,000",
    "up --log --keep-mb": "1 to 1,000,000,000",
    "log follow nowhere --keep-mb": "1 to 1,000,000,000",
}


def complaint(capsys: pytest.CaptureFixture[str], words: str, given: str) -> str:
    *before, option = words.split()
    with pytest.raises(SystemExit):
        parser().parse_args([*before, f"{option}={given}"])
    return capsys.readouterr().err.splitlines()[0].removeprefix(f"error: argument {option}: ")


@pytest.mark.parametrize("given", BAD)
def test_what_is_no_number_that_can_be_is_refused(capsys: pytest.CaptureFixture[str], given: str) -> None:
    """The complaint names the option and its bounds, before anything is done."""
    for words, most in ABOVE_ZERO.items():
        assert complaint(capsys, words, given) == f"'{given}' is not a number above 0, up to {most}"
    for words, bounds in WHOLE.items():
        assert complaint(capsys, words, given) == f"'{given}' is not a whole number from {bounds}"


def test_a_first_port_is_one_or_any(capsys: pytest.CaptureFixture[str]) -> None:
    """0 is whatever is free."""
    assert parser().parse_args(["up", "--first-port", "0"]).first_port == 0
    for given in ("-1", "65536", "http"):
        assert complaint(capsys, "up --first-port", given) == f"'{given}' is not a whole number from 0 to 65,535"
