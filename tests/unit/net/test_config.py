"""Names, and who a broker is by what its disk says."""

from __future__ import annotations

from pathlib import Path

import pytest

from agvent.errors import CallerError
from agvent.net.config import Identity, check_name, identity, known_identity, read_config


@pytest.mark.parametrize("name", ["", "a/b", "a~b", "X~1", " a", "a\n", "n" * 65])
def test_what_brokers_make_keys_with_is_in_no_name(tmp_path: Path, name: str) -> None:
    """Of a broker, a neighbour or a client; nor is it empty, long, or has it what cannot be printed."""
    with pytest.raises(CallerError, match="cannot be a name"):
        check_name(name)
    file = tmp_path / "broker.toml"
    for text in (f"name = {name!r}", f'name = "B1"\n[neighbours]\n{name!r} = "127.0.0.1:1"'):
        file.write_text(text.replace("'", '"'))
        with pytest.raises(CallerError, match="cannot be a name"):
            read_config(file)


def test_a_new_journal_is_a_later_incarnation(tmp_path: Path) -> None:
    """The disk says who the broker is; nobody else starts with it."""
    first = identity(tmp_path, "B1", is_new=True)
    assert identity(tmp_path, "B1", is_new=False) == first
    second = identity(tmp_path, "B1", is_new=True)
    assert (second.broker, second.incarnation > first.incarnation) == ("B1", True)
    assert known_identity(tmp_path) == second
    with pytest.raises(CallerError, match="is the disk of broker 'B1'"):
        identity(tmp_path, "B2", is_new=False)
    assert isinstance(second, Identity)
