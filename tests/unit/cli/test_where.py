"""Which brokers a command speaks to."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from agvent.cli.where import add_hint, add_where, credentials, network
from agvent.errors import CallerError, NetworkFault
from agvent.net.client.broker_connection import START_ONE


def brokers(*words: str) -> list[str]:
    parser = argparse.ArgumentParser()
    add_where(parser)
    return [str(address) for address in network(parser.parse_args(words)).values()]


def test_a_folder_that_is_named_has_a_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One without is a mistake; only who names none asks the broker that is usually there."""
    monkeypatch.chdir(tmp_path)
    assert brokers() == ["127.0.0.1:4780"]
    with pytest.raises(CallerError, match="agvent-network: no network of `agvent up` there"):
        brokers("--network", "agvent-network")
    assert brokers("--network", "agvent-network", "--at", "127.0.0.1:5000") == ["127.0.0.1:5000"]
    (tmp_path / "agvent-network").mkdir()
    (tmp_path / "agvent-network" / "network.json").write_text('{"B1": "127.0.0.1:4790"}')
    assert brokers("--network", "agvent-network") == brokers() == ["127.0.0.1:4790"]


def test_a_network_has_brokers(tmp_path: Path) -> None:
    """A file that names none, as one that is half written may, is a mistake and not a network of nobody."""
    (tmp_path / "network.json").write_text("{}")
    with pytest.raises(CallerError, match="names no broker"):
        brokers("--network", str(tmp_path))


def test_a_token_is_text(tmp_path: Path) -> None:
    """Whoever names another file, such as a key, is told so."""
    (tmp_path / "token").write_bytes(b"\xff\xfe")
    parser = argparse.ArgumentParser()
    add_where(parser)
    words = ["--authority", "authority.pem", "--token", str(tmp_path / "token")]
    with pytest.raises(CallerError, match="holds no token"):
        credentials(parser.parse_args(words))


def test_the_hint_for_a_network_that_was_started_is_not_to_start_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a folder of `agvent up`, or with --at, it stays; a better hint stays too."""
    monkeypatch.chdir(tmp_path)

    def hint(*words: str, hint: str = START_ONE) -> str | None:
        parser = argparse.ArgumentParser()
        add_where(parser)
        error = NetworkFault("no broker can be reached", hint=hint)
        add_hint(error, parser.parse_args(words))
        return error.hint

    assert hint() == START_ONE
    (tmp_path / "agvent-network").mkdir()
    (tmp_path / "agvent-network" / "network.json").write_text('{"B1": "127.0.0.1:4790"}')
    assert hint() == "are its brokers being restarted? `agvent status` shows them, `agvent up` starts them"
    assert hint("--at", "127.0.0.1:4780") == START_ONE
    assert hint(hint="another") == "another"
