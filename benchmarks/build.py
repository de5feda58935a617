"""Building an index of a million subscriptions from a file, parsing included: seconds and peak memory.

    python benchmarks/build.py [--subscriptions 1000000] [--json] [--page]

The file is read one line at a time in a fresh process, as `agvent match` does, so peak memory is the index's own and
what building it needs. Compilation is inside: this is what a user waits for.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

from engine import one_core, peak_rss_bytes
from index import built
from page import made_by, replace_block, short, table
from workloads import SQL_NAMES, workload

SECONDS_MAX: Final = 60
RSS_BYTES_MAX: Final = 2_000_000_000
"""The targets at a million."""


def build(path: Path) -> dict[str, Any]:
    """Builds in this process until an event can be matched."""
    one_core()
    before = peak_rss_bytes()
    start = time.perf_counter()
    index = built(path)
    index.match({})
    return {
        "build_s": round(time.perf_counter() - start, 2),
        "peak_rss_bytes": peak_rss_bytes(),
        "imports_rss_bytes": before,
        "index_bytes": index.statistics().index_bytes,
    }


def measure(name: str, subscriptions: int, seed: int) -> dict[str, Any]:
    """Builds in a fresh process."""
    with tempfile.TemporaryDirectory() as folder:
        path, _ = workload(name, seed).write(Path(folder), subscriptions=subscriptions, events=1)
        ran = subprocess.run([sys.executable, __file__, "--file", path], check=True, stdout=subprocess.PIPE)
    return {"workload": name, "subscriptions": subscriptions, **json.loads(ran.stdout)}


def write_page(measured: list[dict[str, Any]]) -> None:
    lines = [
        [
            f"{row['workload']} {short(row['subscriptions'])}",
            f"**{row['build_s']:.1f}**",
            "yes" if row["build_s"] <= SECONDS_MAX else "no",
            f"**{row['peak_rss_bytes'] / 1e9:.2f}**",
            "yes" if row["peak_rss_bytes"] <= RSS_BYTES_MAX else "no",
            f"{row['index_bytes'] / 1e6:.0f}",
            short(row["subscriptions"] / row["build_s"]),
        ]
        for row in measured
    ]
    headings = ["", "seconds", f"≤ {SECONDS_MAX}", "peak GB", "≤ 2", "index MB", "subscriptions/s"]
    replace_block("build", f"{table(headings, lines)}\n\n{made_by('python benchmarks/build.py --page')}")


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--workload", choices=SQL_NAMES, default=None, help="only this one")
    ask.add_argument("--subscriptions", type=int, default=1_000_000)
    ask.add_argument("--seed", type=int, default=42)
    ask.add_argument("--json", action="store_true", help="print one JSON object per workload")
    ask.add_argument("--page", action="store_true", help="also write docs/performance.md")
    ask.add_argument("--file", type=Path, help="build from this file in this process")
    given = ask.parse_args()
    if given.file:
        print(json.dumps(build(given.file)))
        return
    measured = []
    for name in [given.workload] if given.workload else SQL_NAMES:
        row = measure(name, given.subscriptions, given.seed)
        measured.append(row)
        print(json.dumps(row) if given.json else ", ".join(f"{key} {value}" for key, value in row.items()), flush=True)
    if given.page:
        write_page(measured)


if __name__ == "__main__":
    main()
