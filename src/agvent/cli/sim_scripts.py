"""`agvent sim --script` and `--reduce`: one run as a script of steps, and as few of them as still show a violation."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from agvent.sim.scenario import Scenario

if TYPE_CHECKING:
    from agvent.sim.plan import Plan
    from agvent.sim.reduce import Reduction


def plan_in(path: str) -> Plan:
    """The plan that a file says."""
    from agvent.sim.plan import read_script  # noqa: PLC0415

    return read_script(Path(path).read_text(encoding="utf-8"))


def reduce_run(given: Scenario | Plan, *, as_json: bool) -> int:
    """Prints the smallest plan with the violation of a run; 1 if it has one."""
    # The simulator brings in NumPy and Numba, which `agvent --help` can do without.
    from agvent.sim.reduce import reduce  # noqa: PLC0415
    from agvent.sim.run import planned  # noqa: PLC0415

    console = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("running it once")
        plan = planned(given) if isinstance(given, Scenario) else given
        found = reduce(plan, show=lambda so_far: bar.update(task, description=str(so_far)))
    if found is None:
        print("no violation: there is nothing to reduce", file=sys.stderr)
        return 0
    _print(found, as_json=as_json)
    return 1


def _print(found: Reduction, *, as_json: bool) -> None:
    if as_json:
        summary = {"violation": found.violation, "runs": found.runs, "seconds": round(found.seconds, 1)}
        sizes = {"before": found.before.sizes, "after": found.plan.sizes}
        print(msgspec.json.encode({**summary, **sizes, "script": found.plan.script()}).decode())
        return
    print(f"# violation: {found.violation}\n# {found}\n{found.plan.script()}", end="")
    print("replay it: agvent sim --script FILE --trace", file=sys.stderr)


def judge_script(plan: Plan, path: str, *, as_json: bool) -> int:
    """Runs a plan and says what is wrong with it; 1 if there is something."""
    from agvent.sim.reduce import violations_of  # noqa: PLC0415

    violations = violations_of(plan)
    for violation in violations:
        print(f"violation: {violation}; replay: agvent sim --script {path} --trace", file=sys.stderr)
    if as_json:
        print(msgspec.json.encode({**plan.sizes, "violations": violations}).decode())
    else:
        sizes = ", ".join(f"{count} {what}" for what, count in plan.sizes.items())
        print(f"1 run of {sizes}: {len(violations)} violations")
    return 1 if violations else 0
