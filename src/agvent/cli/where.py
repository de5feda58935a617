"""Which brokers a command speaks to: those of a network that `agvent up` started, or an address."""

from __future__ import annotations

import argparse
import asyncio
import signal
from collections.abc import Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from agvent.errors import CallerError, NetworkFault

if TYPE_CHECKING:
    from agvent.net.client.connect import Connecting
    from agvent.net.link.address import Address
    from agvent.net.link.tls import Credentials

FOLDER = "agvent-network"
NETWORK = "network.json"
LOG = "log"

Result = TypeVar("Result")


def add_where(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--at", metavar="ADDRESSES", help="brokers as host:port, several with commas")
    parser.add_argument(
        "--network",
        metavar="FOLDER",
        help=f"a network of `agvent up` ({FOLDER}; without one, 127.0.0.1:4780); --at overrides it",
    )
    parser.add_argument("--json", action="store_true", help="print JSON, one object a line")
    add_keys(parser)


def add_doing(doings: Any, name: str, help: str, *examples: str) -> argparse.ArgumentParser:
    """The parser of one thing that a command does, with its examples."""
    one: argparse.ArgumentParser = doings.add_parser(
        name,
        help=help,
        description=f"{help[0].upper()}{help[1:]}.",
        epilog="\n  ".join(["examples:", *examples]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    return one


def add_keys(parser: argparse.ArgumentParser) -> None:
    keys = parser.add_argument_group("authentication")
    keys.add_argument("--authority", metavar="FILE", type=Path, help="the authority's certificate, to verify brokers")
    keys.add_argument(
        "--certificate", metavar="FILE", type=Path, help="your certificate; its key is beside it, as .key"
    )
    keys.add_argument("--token", metavar="FILE", type=Path, help="a file with your token, in place of a certificate")
    keys.add_argument(
        "--principal",
        metavar="NAME",
        default="",
        help="the principal of the certificate or token, for commands without --as",
    )


def credentials(args: argparse.Namespace) -> Credentials | None:
    """What the command shows to brokers; None if they need not be shown anything."""
    from agvent.net.link.tls import Credentials

    if args.authority is None:
        if args.certificate is not None or args.token is not None:
            raise CallerError("--certificate and --token need --authority: without it a broker cannot be verified")
        return None
    key = args.certificate.with_suffix(".key") if args.certificate is not None else None
    try:
        token = args.token.read_text("utf-8").strip() if args.token is not None else ""
    except OSError as error:
        raise CallerError(f"{args.token}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise CallerError(f"{args.token} holds no token", hint="agvent keys token prints one") from None
    return Credentials(authority=args.authority, certificate=args.certificate, key=key, token=token)


def client(args: argparse.Namespace, name: str = "", *, log: Path | None = None) -> Connecting:
    """A client of the network that the arguments name; `log` is the folder of its event log."""
    from agvent.net.client.connect import connect

    return connect(brokers(args), name=name, credentials=credentials(args), principal=args.principal, event_log=log)


def run_async(coroutine: Coroutine[Any, Any, Result]) -> Result:
    try:
        import uvloop

        return uvloop.run(coroutine)
    finally:
        coroutine.close()  # one that Ctrl-C did not let begin would be complained of


def folder(args: argparse.Namespace) -> Path:
    """The folder of the network."""
    return Path(FOLDER if args.network is None else args.network)


async def is_interrupted(doing: Coroutine[Any, Any, None]) -> bool:
    """Waits for what a command does; Ctrl-C and SIGTERM end it. Did one of them?"""
    task = asyncio.ensure_future(doing)
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    try:
        await task
    except asyncio.CancelledError:
        return True
    return False


def network(args: argparse.Namespace) -> dict[str, Address]:
    """The brokers by name; by their address if names are not known."""
    from agvent.net.link.address import address_of, addresses_of

    if args.at:
        return {str(address): address for address in addresses_of(args.at)}
    path = folder(args) / NETWORK
    try:
        found = msgspec.json.decode(path.read_bytes(), type=dict[str, str])
    except FileNotFoundError:
        if args.network is not None:
            hint = "`agvent up --network FOLDER` starts one; --at HOST:PORT names a broker by its address"
            raise CallerError(f"{args.network}: no network of `agvent up` there", hint=hint) from None
        return {"127.0.0.1:4780": address_of("127.0.0.1:4780")}
    except (OSError, ValueError) as error:
        raise CallerError(f"{path}: {error}") from None
    if not found:
        raise CallerError(f"{path} names no broker", hint="agvent up writes it; --at HOST:PORT names a broker")
    return {name: address_of(address) for name, address in found.items()}


def add_hint(error: NetworkFault, args: argparse.Namespace) -> None:
    """Where the brokers are those of a network that `agvent up` has started, the hint is not to start one."""
    from agvent.net.client.broker_connection import START_ONE

    is_of_folder = hasattr(args, "network") and not getattr(args, "at", None)
    if error.hint == START_ONE and is_of_folder and (folder(args) / NETWORK).exists():
        error.hint = "are its brokers being restarted? `agvent status` shows them, `agvent up` starts them"


def brokers(args: argparse.Namespace) -> str:
    """The addresses that a client takes."""
    return ",".join(str(address) for address in network(args).values())


def named(args: argparse.Namespace, name: str) -> tuple[Address, str]:
    """The address of one broker of the network, and the name that whoever is there must have, empty for any."""
    found = network(args)
    if name in found:
        return found[name], "" if args.at else name
    if args.at and len(found) == 1:
        return next(iter(found.values())), name
    raise CallerError(f"no broker {name!r} here", hint=f"there are {', '.join(found)}")


async def ask_all(
    addresses: dict[str, Address], request: str, *, shown: Credentials | None = None, **facts: Any
) -> dict[str, Any]:
    """The answer of each broker; a NetworkFault in place of one that does not answer."""
    from agvent.net.link.dial import ask

    answers = await asyncio.gather(
        *(ask(address, request, credentials=shown, **facts) for address in addresses.values()), return_exceptions=True
    )
    for answer in answers:
        if isinstance(answer, BaseException) and not isinstance(answer, NetworkFault):
            raise answer
    return dict(zip(addresses, answers, strict=True))
