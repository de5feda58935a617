"""The site of the documentation builds, offline, and without a warning."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.pages import DOCS

BUILD = [sys.executable, "-m", "sphinx", "-b", "html", "-q", "-W", "--keep-going"]


def built(source: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    words = [*BUILD, "-d", str(folder / "read"), str(source), str(folder / "site")]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    """Every page becomes one of the site, and every link, anchor and docstring in it is understood."""
    run = built(DOCS, tmp_path)
    assert run.stderr == ""
    assert run.returncode == 0
    pages = [page.relative_to(DOCS).with_suffix(".html") for page in DOCS.rglob("*.md")]
    assert [str(page) for page in pages if not (tmp_path / "site" / page).exists()] == []


def test_a_broken_link_or_anchor_ends_the_build(tmp_path: Path) -> None:
    """A link to a page or heading that is not there is an error, and names its place."""
    source = tmp_path / "docs"
    (source / "reference").mkdir(parents=True)
    (source / "site").mkdir()
    (source / "conf.py").write_text((DOCS / "conf.py").read_text())
    (source / "site" / "agvent.css").write_text("")
    (source / "index.md").write_text("# All\n\n## One\n\n| [a](other.md) | |\n|---|---|\n")
    (source / "other.md").write_text("# Other\n\n[there](index.md#one) [no page](none.md) [no heading](index.md#two)\n")
    run = built(source, tmp_path)
    assert run.returncode == 1
    assert "none.md" in run.stderr
    assert "local id not found in doc 'index': 'two'" in run.stderr
    assert "'one'" not in run.stderr
