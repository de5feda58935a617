"""A broker's configuration file."""

from __future__ import annotations

from pathlib import Path

import pytest

from agvent.errors import CallerError
from agvent.net.link.address import Address
from agvent.net.server.config import Config, read_config


def test_a_file_is_a_configuration(tmp_path: Path) -> None:
    """Paths are relative to the file, addresses may leave the port out."""
    path = tmp_path / "broker.toml"
    path.write_text('name = "B1"\ndata = "disk"\n[neighbours]\nB2 = "10.0.0.2"\n')
    assert read_config(path) == Config(
        name="B1",
        listen=Address("127.0.0.1", 4780),
        data=tmp_path / "disk",
        neighbours={"B2": Address("10.0.0.2", 4780)},
    )


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('name = "B1"\nlisten = "0.0.0.0:1"', "can be reached from other machines"),
        ('name = "B1"\nport = 1', "unknown field `port`"),
        ('name = "a/b"', "'a/b' cannot be a name"),
        ('name = "B1"\n[neighbours]\nB1 = "h"', "is its own neighbour"),
        ("name = ", "Invalid value"),
        ("", "missing required field `name`"),
    ],
)
def test_a_wrong_file_is_the_callers_mistake(tmp_path: Path, text: str, complaint: str) -> None:
    """The complaint names what is wrong."""
    path = tmp_path / "broker.toml"
    path.write_text(text)
    with pytest.raises(CallerError, match=complaint):
        read_config(path)


@pytest.mark.parametrize("name", ["", "a/b", "a~b", "X~1", " a", "a\n", "n" * 65])
def test_names_in_a_file_are_checked(tmp_path: Path, name: str) -> None:
    """Both the broker's own name and those of its neighbours."""
    file = tmp_path / "broker.toml"
    for text in (f"name = {name!r}", f'name = "B1"\n[neighbours]\n{name!r} = "127.0.0.1:1"'):
        file.write_text(text.replace("'", '"'))
        with pytest.raises(CallerError, match="cannot be a name"):
            read_config(file)


def test_insecure_is_a_word_that_must_be_said(tmp_path: Path) -> None:
    """With it, any address goes."""
    path = tmp_path / "broker.toml"
    path.write_text('name = "B1"\nlisten = "0.0.0.0:1"')
    assert read_config(path, insecure=True).listen == Address("0.0.0.0", 1)
