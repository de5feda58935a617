"""`agvent tail`: print events as they come, and leave nothing behind."""

from __future__ import annotations

import argparse

from agvent.cli.subscribe import add_what, subscribed
from agvent.cli.where import run_async

SUMMARY = "print events of a network as they come"

DESCRIPTION = """\
Print the events that match, one a line, from now until Ctrl-C. It is a guest's
subscription, which ends with the command. With --since, it prints the events of the
network's event log first (agvent up --log), then new events; each event once.
"""

EPILOG = """\
examples:
  agvent tail
  agvent tail "price > 100" --json
  agvent tail --type Quote --since beginning

exit codes: 0 done, 2 a mistake in the filter, 3 no broker answers, 130 interrupted
"""


def configure(parser: argparse.ArgumentParser) -> None:
    add_what(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    return run_async(subscribed(args, "", "tail", detach=False))
