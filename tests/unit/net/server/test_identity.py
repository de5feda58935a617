"""Which broker a disk belongs to."""

from __future__ import annotations

from pathlib import Path

import pytest

from agvent.errors import CallerError, EnvironmentFault
from agvent.net.server.identity import Identity, identity, known_identity


def test_a_new_journal_is_a_new_incarnation(tmp_path: Path) -> None:
    """It is later than any before it; a disk is one broker's; a journal without an identity is nobody's."""
    first = identity(tmp_path, "B1", is_new=True)
    assert identity(tmp_path, "B1", is_new=False) == first
    assert identity(tmp_path, "B1", is_new=True).incarnation > first.incarnation
    with pytest.raises(CallerError, match="is the disk of broker 'B1', not of 'B2'"):
        identity(tmp_path, "B2", is_new=False)
    (tmp_path / "identity.json").unlink()
    with pytest.raises(EnvironmentFault, match=r"identity.json is missing"):
        identity(tmp_path, "B1", is_new=False)
    assert isinstance(identity(tmp_path, "B1", is_new=True), Identity)


def test_a_disk_without_a_broker_has_no_identity(tmp_path: Path) -> None:
    """It gets one when a broker first starts with it."""
    assert known_identity(tmp_path) is None
    made = identity(tmp_path, "B1", is_new=True)
    assert known_identity(tmp_path) == made
