"""A broker's configuration file, read and checked."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from agvent import limits
from agvent.errors import CallerError
from agvent.net.link.address import Address, address_of, is_loopback
from agvent.net.link.introduction import check_name

HOST_KEY: Final = "hosts.key"
JOURNAL: Final = "journal"
ARCHIVE: Final = "archive"


class TlsFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The table [tls] of the file; paths are relative to it."""

    authority: str
    certificate: str
    key: str
    tokens: list[str] = []


class TlsConfig(msgspec.Struct, frozen=True, kw_only=True):
    """A broker's keys. With them, everybody has to show who they are."""

    authority: Path
    certificate: Path
    key: Path
    tokens: list[Path]


class SandboxFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The table [sandbox] of the file."""

    key: str
    workers: int = limits.SANDBOX_WORKERS


class SandboxConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The sandbox host beside a broker: the key file that all hosts of a network share, and its workers."""

    key: Path
    workers: int = limits.SANDBOX_WORKERS


class ConfigFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The keys of the file as they stand there."""

    name: str
    listen: str = "127.0.0.1:4780"
    data: str = "data"
    admin: str = ""
    keep_history: bool = False
    neighbours: dict[str, str] = {}
    tls: TlsFile | None = None
    sandbox: SandboxFile | None = None


class Config(msgspec.Struct, frozen=True, kw_only=True):
    """One broker's configuration, checked."""

    name: str
    listen: Address
    data: Path
    neighbours: dict[str, Address]
    admin: Address | None = None
    keep_history: bool = False
    tls: TlsConfig | None = None
    sandbox: SandboxConfig | None = None

    @property
    def host_key(self) -> Path:
        """The key file of the sandbox host; without one of the network's, a key of its own, which it makes."""
        return self.sandbox.key if self.sandbox is not None else self.data / HOST_KEY

    @property
    def journal(self) -> Path:
        return self.data / JOURNAL

    @property
    def archive(self) -> Path | None:
        """Where the journal's older segments go; None: nowhere."""
        return self.data / ARCHIVE if self.keep_history else None


def read_config(path: Path, *, insecure: bool = False) -> Config:
    """The configuration of a file; what is wrong with it is a CallerError that names the key."""
    try:
        text = path.read_bytes()
    except OSError as error:
        raise CallerError(f"{path}: {error.strerror}") from None
    try:
        file = msgspec.toml.decode(text, type=ConfigFile)
    except (ValueError, RecursionError) as error:
        raise CallerError(f"{path}: {error}") from None
    for name in (file.name, *file.neighbours):
        check_name(name)
    if file.name in file.neighbours:
        raise CallerError(f"{path}: {file.name!r} is its own neighbour")
    listen = address_of(file.listen)
    if not is_loopback(listen.host) and file.tls is None and not insecure:
        raise CallerError(
            f"{path}: {listen} can be reached from other machines without authentication",
            hint="listen on 127.0.0.1, give it keys (agvent keys, [tls]), or say --insecure",
        )
    admin = address_of(file.admin) if file.admin else None
    if admin is not None and not is_loopback(admin.host) and not insecure:
        raise CallerError(f"{path}: the admin port has no authentication", hint="put it on 127.0.0.1")
    neighbours = {name: address_of(address) for name, address in file.neighbours.items()}
    tls = _tls(file.tls, path.parent) if file.tls is not None else None
    data = path.parent / file.data
    return Config(
        name=file.name,
        listen=listen,
        data=data,
        neighbours=neighbours,
        admin=admin,
        keep_history=file.keep_history,
        tls=tls,
        sandbox=_sandbox(file.sandbox, path.parent) if file.sandbox is not None else None,
    )


def _sandbox(file: SandboxFile, folder: Path) -> SandboxConfig:
    if file.workers < 1:
        raise CallerError(f"a sandbox host has at least one worker, not {file.workers}")
    return SandboxConfig(key=folder / file.key, workers=file.workers)


def _tls(file: TlsFile, folder: Path) -> TlsConfig:
    return TlsConfig(
        authority=folder / file.authority,
        certificate=folder / file.certificate,
        key=folder / file.key,
        tokens=[folder / path for path in file.tokens],
    )
