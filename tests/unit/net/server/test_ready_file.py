"""The file by which a broker says that it is ready."""

from __future__ import annotations

import os
from pathlib import Path

from agvent.net.server.ready_file import is_ready, remove_ready, write_ready


def test_a_broker_is_ready_when_its_own_process_says_so(tmp_path: Path) -> None:
    """The file counts for the process that wrote it, until that removes it; to remove it twice is no mistake."""
    assert not is_ready(tmp_path, os.getpid())
    write_ready(tmp_path, "127.0.0.1:4780")
    assert is_ready(tmp_path, os.getpid())
    assert not is_ready(tmp_path, os.getpid() + 1)
    remove_ready(tmp_path)
    remove_ready(tmp_path)
    assert not is_ready(tmp_path, os.getpid())
    assert list(tmp_path.iterdir()) == []
