"""`agvent up` when a broker that ended cannot be started again at once."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from agvent.cli import up
from agvent.net.fleet.fleet import Fleet


def test_a_broker_that_cannot_be_started_now_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder is where its output goes: that is said once, and it is started when the folder has gone. Watching
    leaves no tasks behind."""
    monkeypatch.setattr(up, "RESTART_SECONDS", 0.001)
    monkeypatch.setattr(up, "SHOW_SECONDS", 0.001)
    fleet = Fleet(tmp_path, [], ["B1"], first_port=0)
    member = fleet.members["B1"]
    member.output.mkdir()

    async def story() -> str:
        watching, said = asyncio.create_task(up._watch(fleet, None, threading.Event(), quiet=True)), ""
        async with asyncio.timeout(20):
            while not said:
                await asyncio.sleep(0.1)
                said += capsys.readouterr().err
            await asyncio.sleep(0.1)
            assert len(asyncio.all_tasks()) == 3  # this one, the one that watches, the one that restarts
            member.output.rmdir()
            while not member.is_running:
                await asyncio.sleep(0.01)
                said += capsys.readouterr().err
        watching.cancel()
        return said

    try:
        said = asyncio.run(story())
    finally:
        fleet.stop()
    assert said.startswith("B1 cannot be started, and is tried again: ")
    assert len(said.splitlines()) == 1
