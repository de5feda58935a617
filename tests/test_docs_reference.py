"""The reference pages have everything that the code has, and nothing else: commands, keys, metrics, limits."""

from __future__ import annotations

import argparse
import inspect
import re
from collections.abc import Iterator
from types import ModuleType

import msgspec
import pytest

import agvent
import agvent.spark
from agvent.cli.main import parser
from agvent.errors import AgventError, CallerError
from agvent.net.server import config, metrics
from agvent.wire import broker_messages, client_messages, host_messages
from tests import limits_page
from tests.pages import DOCS, ROOT, table_rows

REFERENCE = DOCS / "reference"


def commands(of: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """A parser and those of its subcommands, each of which a person may call."""
    inner = [action for action in of._actions if isinstance(action, argparse._SubParsersAction)]
    yield of
    for action in inner:
        for one in action.choices.values():
            yield from commands(one)


def first_cells(page: str, heading: str) -> list[str]:
    """The names in backticks in the first column of the tables below a heading."""
    text = (REFERENCE / page).read_text()
    return [name for row in table_rows(text, heading) for name in re.findall(r"`([^`]+)`", row[0])]


def section(text: str, command: str) -> str:
    """What the page of commands says of one command: its own section, or that of the family it belongs to."""
    words = command.split()
    names = [" ".join(words[:length]) for length in range(len(words), 1, -1)]
    parts = dict(zip(*[iter(re.split(r"^## (.+)$", text, flags=re.MULTILINE)[1:])] * 2, strict=True))
    return next((parts[name] for name in names if name in parts), "")


def test_every_command_and_option_is_on_the_page_of_commands() -> None:
    """Each command has a section, or a place in that of its family, with its options; options that network commands
    or the stages on Spark share stand in theirs."""
    text = (REFERENCE / "commands.md").read_text()
    parts = dict(zip(*[iter(re.split(r"^## (.+)$", text, flags=re.MULTILINE)[1:])] * 2, strict=True))
    shared = parts["Options of network commands"] + parts["Options of Spark stages"]
    missing = []
    for one in commands(parser()):
        said = section(text, one.prog)
        if one.prog != "agvent" and one.prog not in said and not text.count(f"\n## {one.prog}"):
            missing.append(one.prog)
        shown = [action for action in one._actions if action.help != argparse.SUPPRESS and one.prog != "agvent"]
        options = {option for action in shown for option in action.option_strings if option.startswith("--")}
        missing += [f"{one.prog} {option}" for option in sorted(options - {"--help"}) if option not in said + shared]
    assert missing == []


@pytest.mark.parametrize(
    ("heading", "struct"), [("Keys", config.ConfigFile), ("[tls]", config.TlsFile), ("[sandbox]", config.SandboxFile)]
)
def test_every_key_of_the_configuration_is_there_with_its_default(heading: str, struct: type[msgspec.Struct]) -> None:
    """The keys of a broker's file and their defaults are those of the code."""
    defaults = {}
    for field in msgspec.structs.fields(struct):
        made = field.default if field.default is not msgspec.NODEFAULT else None
        if field.default_factory is not msgspec.NODEFAULT:
            made = field.default_factory()
        if field.required:
            defaults[field.name] = "required"
        else:
            defaults[field.name] = "none" if made in (None, "", {}) else f"`{msgspec.json.encode(made).decode()}`"
    rows = table_rows((REFERENCE / "configuration.md").read_text(), heading)
    assert {row[0].strip("`"): row[1] for row in rows} == defaults


def test_every_metric_is_there() -> None:
    """The tables of counters and gauges have the metrics that a broker shows, in its order."""
    link = {"neighbour": "B2", "state": "up", "rtt_us": 0, "queued": 0, "unacknowledged": 0}
    text = metrics.prometheus({"links": [link], "clients": [], "counts": {}, "disk_full": ""})
    shown = re.findall(r"^# TYPE (\w+) (\w+)$", text, re.MULTILINE)
    assert first_cells("metrics.md", "Counters")[: len(metrics.COUNTERS)] == [
        f"agvent_{one}_total" for one in metrics.COUNTERS
    ]
    documented = [name for name in first_cells("metrics.md", "Counters") if name.startswith("agvent_")]
    assert documented == [name for name, kind in shown if kind == "counter"]
    assert first_cells("metrics.md", "Gauges") == [name for name, kind in shown if kind == "gauge"]


def test_every_line_of_a_log_is_there() -> None:
    """The table of log lines has each message that a broker writes."""
    sources = [path.read_text() for path in (ROOT / "src" / "agvent" / "net").rglob("*.py")]
    said = {what for text in sources for call in re.findall(r"log\.say\(([^)]*)", text) for what in _texts(call)}
    assert set(first_cells("metrics.md", "Log lines")) == said | {"lines suppressed"}


def _texts(call: str) -> list[str]:
    """What a line may be called: the texts before the first named argument."""
    return re.findall(r'"([^"]+)"', re.split(r"\w+=", call)[0])


@pytest.mark.parametrize(
    ("heading", "module"),
    [
        ("Messages between brokers", broker_messages),
        ("Messages between a client and its broker", client_messages),
        ("Messages between a client and the sandbox host beside its broker", host_messages),
    ],
)
def test_every_message_is_there_with_its_tag(heading: str, module: object) -> None:
    """The tables of messages have each message and its tag."""
    kinds = [kind for kind in vars(module).values() if isinstance(kind, type) and issubclass(kind, msgspec.Struct)]
    own = [kind for kind in kinds if kind.__module__ == getattr(module, "__name__", "")]
    tagged = {kind.__name__: kind.__struct_config__.tag for kind in own if kind.__struct_config__.tag is not None}
    rows = table_rows((REFERENCE / "wire.md").read_text(), heading)
    assert {row[0]: int(row[1]) for row in rows} == tagged


def test_the_page_of_limits_is_that_of_limits_py() -> None:
    """docs/reference/limits.md is what `python -m tests.limits_page` makes of limits.py."""
    assert limits_page.PAGE.read_text() == limits_page.page()


def test_every_public_name_is_on_the_page_of_the_api() -> None:
    """reference/api.md lists each name of the front door and of agvent.spark."""
    text = (REFERENCE / "api.md").read_text()
    public = {*agvent.__all__, *agvent.spark.__all__}
    assert sorted(name for name in public if f"`{name}`" not in text) == []


SPARK_RESULTS = {"Analysis", "Audit", "AuditVerdict", "DeliveryTally"}
"""Classes of results: the example is that of the function which gives them."""


def without_example(module: ModuleType) -> list[str]:
    """The public classes and functions of a module whose docstring has no example; errors excepted."""
    public = {name: getattr(module, name) for name in module.__all__}
    kinds = {name: one for name, one in public.items() if inspect.isclass(one) or inspect.isfunction(one)}
    errors = {name for name, one in kinds.items() if inspect.isclass(one) and issubclass(one, AgventError)}
    return [name for name, one in kinds.items() if name not in errors and ">>> " not in (one.__doc__ or "")]


@pytest.mark.parametrize("module", [agvent, agvent.spark])
def test_every_public_class_and_function_has_an_example(module: ModuleType) -> None:
    """Its docstring has a `>>>` line, which tests/test_docs.py runs."""
    assert sorted(set(without_example(module)) - SPARK_RESULTS) == []


def test_a_name_without_an_example_is_seen() -> None:
    """A class and a function without one are found; errors and plain values are not looked at."""
    module = ModuleType("made")

    class Plain:
        """Nothing to run."""

    module.__dict__.update(
        {
            "__all__": ["Plain", "explain", "CallerError", "LIMIT"],
            "Plain": Plain,
            "LIMIT": 1,
            "CallerError": CallerError,
        }
    )
    module.__dict__["explain"] = agvent.explain
    assert without_example(module) == ["Plain"]
