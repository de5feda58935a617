"""Brokers with keys: who shows none is rejected, and nobody does what was not granted."""

from __future__ import annotations

import asyncio
import shutil
import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import msgspec
import pytest

from agvent import connect, limits
from agvent.errors import AgventError, CallerError, NetworkFault, RefusedError
from agvent.net.fleet.fleet import free_ports
from agvent.net.fleet.keys import make_authority, make_certificate, make_token
from agvent.net.fleet.local import local_broker
from agvent.net.link.address import address_of
from agvent.net.link.dial import HAS_NO_KEYS, TAKES_KEYS, ask, dial
from agvent.net.link.tls import Credentials
from agvent.net.server.config import TlsConfig

EXPIRED = "certificate or token expired"
GRANTS = ["publish topic:Sports/#", "subscribe topic:Sports/#", "advertise type:Book"]


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("keys")
    make_authority(folder)
    for name in ("B1", "B2"):
        make_certificate(folder, "broker", name)
    make_certificate(folder, "client", "ada", grants=GRANTS)
    return folder


def tls_of(folder: Path, name: str) -> TlsConfig:
    return TlsConfig(
        authority=folder / "authority.pem",
        certificate=folder / f"{name}.pem",
        key=folder / f"{name}.key",
        tokens=[folder / "tokens.pub"],
    )


@pytest.fixture
def url(keys: Path) -> Iterator[str]:
    with local_broker("B1", tls=tls_of(keys, "B1")) as url:
        yield url


def certificate(folder: Path, name: str) -> Credentials:
    return Credentials(
        authority=folder / "authority.pem", certificate=folder / f"{name}.pem", key=folder / f"{name}.key"
    )


def token(folder: Path, name: str, *grants: str, days: float = 1) -> Credentials:
    text = make_token(folder, name, grants=grants, days=days)
    return Credentials(authority=folder / "authority.pem", token=text)


@pytest.mark.parametrize("by", ["certificate", "token"])
def test_who_shows_a_key_is_let_in(url: str, keys: Path, by: str) -> None:
    """By certificate or token; what is granted works as it does without keys."""
    shown = certificate(keys, "ada") if by == "certificate" else token(keys, "ada", *GRANTS)
    with connect(url, name="ada", credentials=shown) as ada:
        subscription = ada.subscribe("score > 100", pattern="Sports/#")
        receipt = ada.publish({"$topic": "Sports/NBA", "score": 101})
        item = subscription.next(10)
        assert item is not None
        assert item.id == receipt.id  # type: ignore[union-attr]


def test_what_is_not_granted_is_refused_by_name(url: str, keys: Path) -> None:
    """Each action; what follows a refused publication is published."""
    with connect(url, name="ada", credentials=certificate(keys, "ada")) as ada:
        with pytest.raises(CallerError, match="denied: 'ada' has no grant `subscribe topic:#`"):
            ada.subscribe(pattern="#")
        with pytest.raises(CallerError, match="denied: 'ada' has no grant `advertise type:Tape`"):
            ada.advertise("Tape")
        with pytest.raises(RefusedError, match="rejected 0: denied: 'ada' has no grant `publish topic:News`") as raised:
            ada.publish_batch([{"$topic": "News"}, {"$topic": "Sports/NBA"}])
        assert [receipt.id.sequence for receipt in raised.value.receipts] == [2]


def test_who_shows_nothing_is_turned_away(url: str, keys: Path) -> None:
    """No key, another's name, a token that has expired or of another authority: told why, and no second try."""
    only_authority = Credentials(authority=keys / "authority.pem")
    for shown, name, said in (
        (only_authority, "ada", "it must show a client's certificate or a token"),
        (certificate(keys, "ada"), "ben", "it must show the certificate or token of 'ben', not of 'ada'"),
        (token(keys, "ada", *GRANTS, days=-1), "ada", "the token of 'ada' has expired"),
        (certificate(keys, "B2"), "ada", "it must show a client's certificate or a token"),
    ):
        with pytest.raises(CallerError, match=said), connect(url, name=name, credentials=shown):
            pass


def test_plain_words_to_a_broker_with_keys_come_to_nothing(url: str) -> None:
    """Without TLS there is no connection; the hint says what the broker would take, to clients and operators."""
    with pytest.raises(NetworkFault, match="the connection ended: closed by the peer") as raised:
        connect(url, name="ada").__enter__()
    assert raised.value.hint == TAKES_KEYS
    with pytest.raises(NetworkFault) as raised:
        asyncio.run(ask(address_of(url), "status"))
    assert raised.value.hint == TAKES_KEYS


def test_keys_shown_to_a_broker_without_any_come_to_nothing(keys: Path) -> None:
    """There is no handshake, and the hint says why that may be."""
    with local_broker() as plain, pytest.raises(NetworkFault, match=r"no TLS handshake: [^ ]") as raised:
        connect(plain, name="ada", credentials=certificate(keys, "ada")).__enter__()
    assert raised.value.hint == HAS_NO_KEYS


def test_who_is_turned_away_as_a_guest_is_told_whose_it_could_be(url: str, keys: Path) -> None:
    """A guest has a name of its own, which no key is for."""
    with pytest.raises(CallerError, match="a guest of 'ada' says so with --principal ada"):
        connect(url, credentials=certificate(keys, "ada")).__enter__()


def test_what_has_expired_ends_its_connection(keys: Path) -> None:
    """A token of two seconds: the connection ends with it, what is asked then is refused with the reason, and no other
    try is made. An operator's connection ends too."""
    lines: list[str] = []
    short = token(keys, "ben", "subscribe *", "administer *", days=2 / 86_400)
    root = token(keys, "root", "administer *")

    async def story(url: str) -> None:
        address = address_of(url)
        _, operator, _ = await dial(address, "operator", "operator", short)
        async with connect(url, name="ben", credentials=short) as ben, asyncio.timeout(20):
            await ben.subscribe(id="all")
            with pytest.raises(NetworkFault, match="the connection ended"):
                await operator.frame()
            while "the token of 'ben' has expired" not in ben.last_error:
                await ask(address, "status", credentials=root)
            with pytest.raises(CallerError, match="the token of 'ben' has expired"):
                await ben.types()
        [client] = (await ask(address, "status", credentials=root))["clients"]
        assert not client["attached"]

    with local_broker("B1", tls=tls_of(keys, "B1"), log=lines.append) as url:
        asyncio.run(story(url))
    said = [msgspec.json.decode(line) for line in lines]
    assert [one["reason"] for one in said if one["message"] == "link closed"] == [EXPIRED]
    assert len([one for one in said if one["message"] == "rejected"]) == 1


def test_one_brokers_refusal_does_not_end_a_client_whose_home_restarts(keys: Path, tmp_path: Path) -> None:
    """The other broker takes no tokens, and says so for good; the home returns, and has what the client published."""
    [port] = free_ports(1)
    home = local_broker("B1", tls=tls_of(keys, "B1"), data=tmp_path, port=port)
    again = local_broker("B1", tls=tls_of(keys, "B1"), data=tmp_path, port=port)

    async def story(url: str) -> None:
        async with (
            asyncio.timeout(20),
            connect(url, name="ben", credentials=token(keys, "ben", "publish *"), failover_s=0.1) as ben,
        ):
            await ben.publish({"n": 1})
            await asyncio.to_thread(home.__exit__, None, None, None)
            publishing = asyncio.create_task(ben.publish({"n": 2}))
            while "denied: " not in ben.last_error:
                await asyncio.wait([publishing], timeout=0.1)
            await asyncio.to_thread(again.__enter__)
            assert (await publishing).entry == "B1"

    with local_broker("B2", tls=msgspec.structs.replace(tls_of(keys, "B2"), tokens=[])) as other:
        asyncio.run(story(f"{home.__enter__()},{other}"))
        again.__exit__(None, None, None)


def test_a_certificate_that_expires_ends_its_connections(keys: Path, tmp_path: Path) -> None:
    """Between neighbours and of clients."""
    folder, lines = tmp_path / "keys", list[str]()
    shutil.copytree(keys, folder)
    make_certificate(folder, "client", "eve", grants=["subscribe *"], days=3 / 86_400)
    make_certificate(folder, "broker", "B2", days=3 / 86_400, replace=True)
    with local_broker("B1", tls=tls_of(keys, "B1"), log=lines.append) as url:
        to = {"B1": address_of(url)}
        with (
            local_broker("B2", tls=tls_of(folder, "B2"), neighbours=to),
            connect(url, name="eve", credentials=certificate(folder, "eve")),
        ):
            while len([line for line in lines if EXPIRED in line]) < 2:
                asyncio.run(ask(address_of(url), "status", credentials=token(keys, "root", "administer *")))
    ended = [one for one in map(msgspec.json.decode, lines) if one.get("reason") == EXPIRED]
    assert sorted(one["link"].partition("#")[0] for one in ended) == ["B2", "eve"]


@pytest.mark.parametrize("name", ["a~b", "a/b", " a", "", "a\n", "n" * 200])
def test_a_name_that_can_be_none_is_turned_away_for_good(url: str, keys: Path, name: str) -> None:
    """Brokers make keys of names with `~` and `/`: whoever introduces itself so is told, and tries no more."""
    with pytest.raises(CallerError, match="cannot be a name"):
        asyncio.run(dial(address_of(url), "client", name, token(keys, "root", "administer *")))


def test_a_guest_is_somebodys(url: str, keys: Path) -> None:
    """A name that begins with the principal's is the principal's."""
    with connect(url, credentials=certificate(keys, "ada"), principal="ada") as guest:
        assert guest.client.name.startswith("ada.guest-")
        assert guest.publish({"$topic": "Sports/x"}).id.sequence == 1


def test_operators_need_a_grant(url: str, keys: Path) -> None:
    """administer, by token here."""
    address = address_of(url)
    with pytest.raises(CallerError, match=r"has no grant `administer \*`"):
        asyncio.run(ask(address, "status", credentials=certificate(keys, "ada")))
    shown = token(keys, "root", "administer *")
    assert asyncio.run(ask(address, "status", credentials=shown))["broker"] == "B1"


def test_a_stranger_with_a_certificate_of_his_own_is_not_believed(url: str, tmp_path: Path, keys: Path) -> None:
    """Another authority's client is not let in, and a client does not believe another authority's broker."""
    make_authority(tmp_path)
    make_certificate(tmp_path, "client", "ada", grants=["publish *"])
    make_certificate(tmp_path, "broker", "B1")
    mixed = Credentials(authority=keys / "authority.pem", certificate=tmp_path / "ada.pem", key=tmp_path / "ada.key")
    with pytest.raises(AgventError), connect(url, name="ada", credentials=mixed):
        pass
    with (
        local_broker("B1", tls=tls_of(tmp_path, "B1")) as false,
        pytest.raises(NetworkFault, match="CERTIFICATE_VERIFY_FAILED"),
        connect(false, name="ada", credentials=certificate(keys, "ada")),
    ):
        pass


def test_neighbours_know_each_other_by_certificate(keys: Path) -> None:
    """Two brokers with keys link and carry events; one with another's certificate stays alone."""
    first, second, third = free_ports(3)
    with ExitStack() as stack:
        b1 = stack.enter_context(
            local_broker("B1", port=first, tls=tls_of(keys, "B1"), neighbours={"B2": address_of(f"127.0.0.1:{second}")})
        )
        b2 = stack.enter_context(local_broker("B2", port=second, tls=tls_of(keys, "B2")))
        dial_in = {"B1": address_of(f"127.0.0.1:{first}")}
        b3 = stack.enter_context(local_broker("B3", port=third, tls=tls_of(keys, "B2"), neighbours=dial_in))
        operator = token(keys, "root", "administer *")

        def link(url: str) -> dict[str, str]:
            [found] = asyncio.run(ask(address_of(url), "status", credentials=operator))["links"]
            return found  # type: ignore[no-any-return]

        while link(b1)["state"] != "up":
            pass
        while "it must show the certificate of broker 'B3'" not in link(b3)["last_error"]:
            assert link(b3)["state"] == "down"
        free = token(keys, "ada", "publish *", "subscribe *")
        with connect(b2, name="ada", credentials=free) as ada, connect(b1, name="ada.two", credentials=free) as other:
            subscription = ada.subscribe()
            assert other.publish({"n": 1}).entry == "B1"
            assert subscription.next(10) is not None


def test_a_principal_takes_no_more_than_its_connections(url: str, keys: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond them its next one is rejected; another principal is not."""
    monkeypatch.setattr(limits, "PRINCIPAL_CONNECTIONS_MAX", 2)
    shown, other = token(keys, "ada", "publish *"), token(keys, "ben", "publish *")
    with connect(url, name="ada", credentials=shown), connect(url, name="ada.2", credentials=shown):
        with pytest.raises(NetworkFault, match="'ada' has 2 connections"):
            connect(url, name="ada.3", credentials=shown).__enter__()
        with connect(url, name="ben", credentials=other) as ben:
            assert ben.publish({"n": 1}).id.sequence == 1


def test_half_a_handshake_is_cut_off(url: str, keys: Path) -> None:
    """Old versions of TLS are not spoken, and random bytes are no handshake."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.load_verify_locations(keys / "authority.pem")
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    with socket.create_connection(address_of(url), timeout=10) as stream, pytest.raises(ssl.SSLError):
        context.wrap_socket(stream)
    with socket.create_connection(address_of(url), timeout=10) as stream:
        stream.sendall(b"\x16\x03" + b"x" * 200)
        assert stream.recv(100) is not None
