"""The client for scripts has what the client has: only the waiting differs."""

from __future__ import annotations

import inspect

import pytest

from agvent.net.client.client import Client
from agvent.net.client.script import ScriptClient, ScriptSeals
from agvent.net.client.seals import Seals
from agvent.net.link.address import Address


def names(of: object) -> set[str]:
    return {name for name in dir(of) if not name.startswith("_")}


def test_a_script_has_every_public_name() -> None:
    """Properties and attributes too; `client` and `run` are the script's own."""
    client = Client([Address("127.0.0.1", 1)], name="ann", is_guest=True, context=None, failover_s=1.0)
    assert names(ScriptClient) - {"run"} == names(client)
    assert names(ScriptSeals) == names(Seals)


@pytest.mark.parametrize("cls", [Client, Seals], ids=lambda cls: cls.__name__)
def test_a_scripts_calls_wait(cls: type) -> None:
    """Where the client's is awaited, the script's is not."""
    script: type = {Client: ScriptClient, Seals: ScriptSeals}[cls]
    awaited = {name for name in names(cls) if inspect.iscoroutinefunction(getattr(cls, name))}
    assert awaited == {name for name in awaited if inspect.isfunction(getattr(script, name))}
    assert not any(inspect.iscoroutinefunction(getattr(script, name)) for name in awaited)
