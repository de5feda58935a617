"""`agvent keys`: the keys of a network."""

from __future__ import annotations

import argparse
from pathlib import Path

import msgspec

from agvent import limits
from agvent.cli.numbers import above_zero
from agvent.cli.where import add_doing

SUMMARY = "make the keys of a network: authority, certificates, tokens, sandbox hosts"

DESCRIPTION = """\
Make the keys of a network. FOLDER holds the keys of the authority: keep it private.
A broker gets a certificate, a client a certificate or a token.

A grant is an action and what it applies to, such as
  publish topic:Sports/#     subscribe type:Book     advertise type:Book
  code type:Book             subscribe *             administer *

The key of the sandbox hosts opens the hidden fields of agvents. All brokers of
a network name the same file (`[sandbox]`, `key`); brokers do not read it, the
hosts beside them do. Making it again adds a newer key: publishers hide fields
for the newest one that their broker's host has read, older ones stay readable.
"""

EPILOG = """\
examples:
  agvent keys authority keys
  agvent keys broker keys B1
  agvent keys client keys ada --grant "publish topic:Sports/#" --grant "subscribe *"
  agvent keys token keys ada --grant "subscribe topic:Sports/#" --days 30 > ada.token
  agvent keys hosts keys
  agvent keys own partner.keys

exit codes: 0 done, 2 a mistake in the arguments, 3 a file cannot be written
"""

MAKES = {
    "authority": "make an authority, and the keys that sign tokens",
    "broker": "make a broker's certificate",
    "client": "make a client's certificate",
    "token": "print a token for a client",
    "hosts": "make the key of the network's sandbox hosts, or add a newer one",
}
EXAMPLES = {
    "authority": ["agvent keys authority keys"],
    "broker": ["agvent keys broker keys B1"],
    "client": ["agvent keys client keys ada --grant 'publish topic:Sports/#' --grant 'subscribe *'"],
    "token": ["agvent keys token keys ada --grant 'subscribe topic:Sports/#' --days 30 > ada.token"],
    "hosts": ["agvent keys hosts keys"],
    "own": ["agvent keys own partner.keys"],
}
OF_THE_NETWORK = ("authority", "hosts")
OWN = "print the public halves of a client's own keys, which are made if they are missing"


def configure(parser: argparse.ArgumentParser) -> None:
    makes = parser.add_subparsers(metavar="WHAT", required=True)
    for what, help in MAKES.items():
        one = add_doing(makes, what, help, *EXAMPLES[what])
        one.add_argument("folder", metavar="FOLDER", type=Path, help="the authority's folder")
        if what not in OF_THE_NETWORK:
            one.add_argument("name", metavar="NAME", help="the broker or client that it is for")
            days = above_zero(limits.KEY_DAYS_MAX)
            one.add_argument("--days", type=days, default=365, metavar="N", help="days until it expires (365)")
        if what in ("broker", "client"):
            one.add_argument("--replace", action="store_true", help="replace an existing one")
        if what in ("client", "token"):
            one.add_argument(
                "--grant", action="append", default=[], metavar="GRANT", help="an action that it may do; may repeat"
            )
        one.add_argument("--json", action="store_true", help="print JSON")
        one.set_defaults(run=run, what=what)
    own = add_doing(makes, "own", OWN, *EXAMPLES["own"])
    own.add_argument("file", metavar="FILE", type=Path, help="the client's key file, as in connect(key_file=…)")
    own.add_argument("--json", action="store_true", help="print JSON")
    own.set_defaults(run=show_own)


def show_own(args: argparse.Namespace) -> int:
    from agvent.net.client.keyring import Keyring

    keyring = Keyring(args.file)
    shown = {"signing": keyring.signing_key, "seal": keyring.seal_key}
    print(msgspec.json.encode(shown).decode() if args.json else "\n".join(f"{a}: {b}" for a, b in shown.items()))
    return 0


def run(args: argparse.Namespace) -> int:
    from agvent.net.fleet.keys import make_authority, make_certificate, make_token
    from agvent.sandbox.key_file import make_host_key

    if args.what == "authority":
        make_authority(args.folder)
        made = {"authority": f"{args.folder}/authority.pem", "tokens": f"{args.folder}/tokens.pub"}
    elif args.what == "hosts":
        args.folder.mkdir(parents=True, exist_ok=True)
        made = {"hosts": f"{args.folder}/hosts.key", "keys": str(make_host_key(args.folder / "hosts.key"))}
    elif args.what == "token":
        made = {"token": make_token(args.folder, args.name, grants=args.grant, days=args.days)}
    else:
        grants = args.grant if args.what == "client" else ()
        path = make_certificate(args.folder, args.what, args.name, grants=grants, days=args.days, replace=args.replace)
        made = {"certificate": str(path), "key": str(path.with_suffix(".key"))}
    if args.json:
        print(msgspec.json.encode(made).decode())
    elif args.what == "token":
        print(made["token"])
    else:
        print("\n".join(f"{what}: {path}" for what, path in made.items()))
    return 0
