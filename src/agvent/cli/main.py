"""The `agvent` command: reads the arguments, runs one subcommand, turns errors into exit codes."""

from __future__ import annotations

import sys

try:
    import argparse
    import io
    import os
    from collections.abc import Sequence
    from importlib.metadata import version
    from pathlib import Path
    from typing import NoReturn

    from agvent.cli import (
        advertise,
        broker,
        demo,
        discover,
        document,
        explain,
        filter,
        journal,
        keys,
        librarian,
        link,
        log,
        match,
        publish,
        sim,
        spark,
        status,
        subscribe,
        tail,
        trace,
        types,
        unsubscribe,
        up,
    )
    from agvent.cli.where import add_hint
    from agvent.errors import AgventError, CallerError, EnvironmentFault, NetworkFault
except KeyboardInterrupt:  # Ctrl-C before there is anything to interrupt
    sys.exit(130)

COMMANDS = {
    "demo": demo,
    "match": match,
    "explain": explain,
    "filter": filter,
    "up": up,
    "status": status,
    "publish": publish,
    "subscribe": subscribe,
    "tail": tail,
    "unsubscribe": unsubscribe,
    "advertise": advertise,
    "types": types,
    "discover": discover,
    "document": document,
    "librarian": librarian,
    "trace": trace,
    "link": link,
    "broker": broker,
    "journal": journal,
    "keys": keys,
    "log": log,
    "spark": spark,
    "sim": sim,
}

OK = 0
NEGATIVE = 1
MISTAKE = 2
ENVIRONMENT = 3
INTERRUPTED = 130
BROKEN_PIPE = 141

STANDARD_ERROR = 2

DESCRIPTION = """\
Match events against standing filters; run brokers that deliver them to subscribers;
or simulate a network of brokers.

A filter is a condition on an event: price > 100 AND symbol = 'IBM'.
A subscription is a filter with an id; an event is an object of attributes.
"""

EPILOG = """\
examples:
  agvent match subscriptions.jsonl events.jsonl
  tail -f events.jsonl | agvent match subscriptions.jsonl - --on-error skip
  agvent explain "price > 100" '{"price": 99.5}'
  agvent filter check subscriptions.jsonl
  agvent filter translate 'require(user) && age > 20' --from elvin --to sql
  agvent spark match subscriptions.jsonl events.jsonl --out matches
  agvent log verify day
  agvent up
  agvent tail "price > 100"          (in another terminal)
  agvent publish '{"price": 120}'

exit codes:
    0  done
    1  explain: the filter does not match; filter check: a subscription is wrong;
       filter covers: not proven; log verify: the log is broken;
       spark doctor: something is missing; spark discover: nothing found;
       spark audit: the promise was broken; sim: a violation; demo: not everything
       arrived once; status: a broker does not answer; publish: an event was rejected;
       types, trace, discover: nothing found; unsubscribe: not subscribed;
       link heal: one end did not answer; journal: damaged
    2  a mistake in the arguments, a filter, a subscription or an event
    3  the machine: a file that cannot be opened, read or written; Spark; no broker
  130  interrupted (Ctrl-C)
  141  the reader of the output closed the pipe

agvent COMMAND --help says more about one command.
"""


class CommandParser(argparse.ArgumentParser):
    """argparse, with our form of error."""

    def error(self, message: str) -> NoReturn:
        complain(CallerError(message, hint=f"{self.prog} --help"))
        sys.exit(MISTAKE)


def parser() -> CommandParser:
    """The whole command, subcommands included."""
    formatter = argparse.RawDescriptionHelpFormatter
    whole = CommandParser(prog="agvent", description=DESCRIPTION, epilog=EPILOG, formatter_class=formatter)
    whole.add_argument("--version", action="version", version=f"agvent {version('agvent')}")
    commands = whole.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, command in COMMANDS.items():
        command.configure(
            commands.add_parser(
                name,
                help=command.SUMMARY,
                description=command.DESCRIPTION,
                epilog=command.EPILOG,
                formatter_class=formatter,
            )
        )
    return whole


def complain(error: AgventError) -> None:
    """The error on standard error, its hint on a line of its own."""
    text = str(error)
    if error.hint and "\nhint: " not in text:
        text += f"\nhint: {error.hint}"
    print(f"error: {text}", file=sys.stderr)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and gives its exit code."""
    _take_standard_descriptors()
    if sys.stderr is None:  # closed: what would be said goes nowhere
        sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115 - for as long as the process lasts
    if sys.stdout is None:
        complain(EnvironmentFault("standard output is closed"))
        return ENVIRONMENT
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # an encoding without ✓ shows \u2713
    try:
        try:
            args = parser().parse_args(argv)
            code = _run(args)
        finally:
            sys.stdout.flush()  # at exit it would be too late to say that it failed
    except BrokenPipeError:
        give_up_output()
        return BROKEN_PIPE
    except KeyboardInterrupt:
        return INTERRUPTED
    except CallerError as error:
        complain(error)
        return MISTAKE
    except AgventError as error:
        complain(error)
        return ENVIRONMENT
    except OSError as error:
        give_up_output()
        named = f"{error.filename}: " if error.filename else ""
        complain(AgventError(f"{named}{error.strerror or error}"))
        return ENVIRONMENT
    return code


def _run(args: argparse.Namespace) -> int:
    try:
        return int(args.run(args))
    except NetworkFault as error:
        add_hint(error, args)
        raise


def _take_standard_descriptors() -> None:
    """One that is closed would be the next socket's or file's, and what is printed would go there."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= STANDARD_ERROR:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)


def give_up_output() -> None:
    """What could not be written goes nowhere, or Python would try again at exit and fail with a code of its own."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
