"""Hidden fields open in sandbox hosts alone, sealed ones for admitted subscribers alone."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from itertools import count

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from agvent import limits
from agvent.agents.authoring.flatten import program_of
from agvent.agents.authoring.publishing import published
from agvent.agents.secrecy.hidden_fields import Hider, HostKeys, bound_to
from agvent.agents.secrecy.sealed_fields import Sealer, Unsealer, decode_grant, encode_grant
from agvent.errors import EventError, SecretError
from agvent.event import Int32
from agvent.wire.codec import decode_event, encode_event
from tests.publishing_house import CANARY, Book, book

HOUSE_KEY = Ed25519PrivateKey.from_private_bytes(b"h" * 32)
HOUSE_PUBLIC = HOUSE_KEY.public_key().public_bytes_raw()
FIELDS = {"_references": ["Alonso, E."], "margin": 0.25, "count": Int32(3)}
BOUND = bound_to("house", "Book", "hash")


def seeded(seed: str) -> Callable[[int], bytes]:
    """Random bytes that are the same every time."""
    numbers: Iterator[int] = count()
    return lambda size: hashlib.shake_256(f"{seed} {next(numbers)}".encode()).digest(size)


def key(seed: str) -> X25519PrivateKey:
    return X25519PrivateKey.from_private_bytes(seeded(seed)(32))


# Hidden


def test_a_host_reveals_what_was_hidden_for_it() -> None:
    """Kinds and all; the same fields are other bytes every time."""
    keys, random = HostKeys([key("hosts")]), seeded("house")
    hider = Hider(keys.public, random)
    first, second = hider.hide(FIELDS, BOUND), hider.hide(FIELDS, BOUND)
    assert first != second
    revealed = keys.reveal(first, BOUND)
    assert revealed == keys.reveal(second, BOUND) == FIELDS
    assert isinstance(revealed["count"], Int32)


def test_a_new_host_key_stands_beside_the_old_one() -> None:
    """What was hidden for the old key still opens; publishers are given the new one."""
    old, both = HostKeys([key("old")]), HostKeys([key("old"), key("new")])
    hidden = Hider(old.public, seeded("house")).hide(FIELDS, BOUND)
    assert both.reveal(hidden, BOUND) == FIELDS
    assert both.public == HostKeys([key("new")]).public


@pytest.mark.parametrize(
    ("altered", "bound"),
    [
        (lambda hidden: hidden, bound_to("eve", "Book", "hash")),
        (lambda hidden: hidden, bound_to("house", "Tape", "hash")),
        (lambda hidden: hidden, bound_to("house", "Book", "another")),
        (lambda hidden: hidden[:-1], BOUND),
        (lambda hidden: hidden[:20], BOUND),
        (lambda hidden: bytes([hidden[0] ^ 1]) + hidden[1:], BOUND),
        (lambda hidden: hidden[:60] + bytes([hidden[60] ^ 1]) + hidden[61:], BOUND),
        (lambda hidden: hidden[:8] + bytes(32) + hidden[40:], BOUND),
        (lambda hidden: b"", BOUND),
    ],
)
def test_hidden_fields_open_only_as_they_were_hidden(altered: Callable[[bytes], bytes], bound: bytes) -> None:
    """Not for another publisher, type or program, and not if a byte changed."""
    keys = HostKeys([key("hosts")])
    hidden = Hider(keys.public, seeded("house")).hide(FIELDS, BOUND)
    with pytest.raises(SecretError):
        keys.reveal(altered(hidden), bound)


def test_a_key_pair_serves_so_many_agvents(monkeypatch: pytest.MonkeyPatch) -> None:
    """After HIDES_PER_KEY_MAX agvents the key pair is another."""
    monkeypatch.setattr(limits, "HIDES_PER_KEY_MAX", 3)
    keys, random = HostKeys([key("hosts")]), seeded("house")
    hider = Hider(keys.public, random)
    hidden = [hider.hide(FIELDS, BOUND) for _ in range(7)]
    assert len({one[:52] for one in hidden}) == 7
    assert len({one[8:40] for one in hidden}) == 3
    assert all(keys.reveal(one, BOUND) == FIELDS for one in hidden)


def test_an_event_has_its_secrets_in_no_readable_form() -> None:
    """Hidden, opaque and sealed values are not in the event's bytes; attributes are."""
    keys, random = HostKeys([key("hosts")]), seeded("house")
    sealer = Sealer("house", "Book", HOUSE_KEY, random)
    event = published(book(), "house", hider=Hider(keys.public, random), sealer=sealer)
    content = encode_event(event)
    assert b"Valentina Plekhanova" in content
    assert not any(secret.encode() in content for secret in (CANARY, "Alonso", "15 % to the author", "_references"))
    assert decode_event(content) == event
    assert event.cargo is not None
    revealed = keys.reveal(event.cargo.hidden, bound_to("house", "Book", program_of(Book).hash))
    assert revealed == {"margin": 0.25, "_references": ["Alonso, E.", CANARY]}


def test_secrets_are_not_published_without_keys() -> None:
    """A class with hidden or sealed fields asks for what encrypts them."""
    keys, random = HostKeys([key("hosts")]), seeded("house")
    with pytest.raises(EventError, match="Book has hidden fields"):
        published(book(), "house")
    with pytest.raises(EventError, match="Book has sealed fields"):
        published(book(), "house", hider=Hider(keys.public, random))
    other = Sealer("eve", "Book", HOUSE_KEY, random)
    with pytest.raises(EventError, match="Book has sealed fields"):
        published(book(), "house", hider=Hider(keys.public, random), sealer=other)


# Sealed


class Shop:
    """A sealer, two subscribers and one who was refused."""

    def __init__(self) -> None:
        self.sealer = Sealer("house", "Book", HOUSE_KEY, seeded("seals"))
        self.ann, self.bob, self.eve = (Unsealer(key(name)) for name in ("ann", "bob", "eve"))
        self.ann_grant = self.sealer.admit("ann", self.ann.public)
        self.bob_grant = self.sealer.admit("bob", self.bob.public)
        self.ann.take(self.ann_grant, HOUSE_PUBLIC)
        self.bob.take(self.bob_grant, HOUSE_PUBLIC)


def test_admitted_subscribers_read_sealed_fields() -> None:
    """All that were admitted, and what they read is what was sealed."""
    shop = Shop()
    sealed = shop.sealer.seal(FIELDS)
    assert shop.ann.open("house", "Book", sealed) == shop.bob.open("house", "Book", sealed) == FIELDS


def test_a_refused_subscriber_cannot_read() -> None:
    """With every grant and every sealed byte in hand it has no key: its own does not open the grants of others, and
    without a grant there is nothing to try."""
    shop = Shop()
    sealed = shop.sealer.seal(FIELDS)
    for grant in (shop.ann_grant, shop.bob_grant):
        with pytest.raises(SecretError, match="the grant is for another subscriber"):
            shop.eve.take(grant, HOUSE_PUBLIC)
        with pytest.raises(SecretError, match="the grant is not house's"):
            shop.eve.take(msgspec.structs.replace(grant, subscriber="eve"), HOUSE_PUBLIC)
    with pytest.raises(SecretError, match=r"no grant for seal key \d+ of house's Book"):
        shop.eve.open("house", "Book", sealed)


def test_a_revoked_subscriber_reads_no_more() -> None:
    """The seal key changes, the others get the new one; what was sealed before stays readable."""
    shop = Shop()
    before = shop.sealer.seal({"n": 1})
    (grant,) = shop.sealer.revoke("bob")
    after = shop.sealer.seal({"n": 2})
    shop.ann.take(grant, HOUSE_PUBLIC)
    assert (shop.ann.open("house", "Book", before), shop.ann.open("house", "Book", after)) == ({"n": 1}, {"n": 2})
    assert shop.bob.open("house", "Book", before) == {"n": 1}
    with pytest.raises(SecretError, match="no grant for seal key"):
        shop.bob.open("house", "Book", after)
    with pytest.raises(SecretError, match="the grant is for another subscriber"):
        shop.bob.take(grant, HOUSE_PUBLIC)


def test_a_subscriber_admitted_later_reads_from_then_on() -> None:
    """Rotation before admission keeps the past closed."""
    shop = Shop()
    before = shop.sealer.seal({"n": 1})
    shop.sealer.rotate()
    shop.eve.take(shop.sealer.admit("eve", shop.eve.public), HOUSE_PUBLIC)
    assert shop.eve.open("house", "Book", shop.sealer.seal({"n": 2})) == {"n": 2}
    with pytest.raises(SecretError, match="no grant for seal key"):
        shop.eve.open("house", "Book", before)


def test_a_forged_grant_is_refused() -> None:
    """A grant that the publisher did not sign gives no key, though it opens."""
    shop = Shop()
    forger = Sealer("house", "Book", Ed25519PrivateKey.from_private_bytes(b"f" * 32), seeded("forged"))
    with pytest.raises(SecretError, match="the grant is not house's"):
        shop.ann.take(forger.admit("ann", shop.ann.public), HOUSE_PUBLIC)


def test_altered_sealed_bytes_do_not_open() -> None:
    """Each byte is under the seal: of number, nonce and content."""
    shop = Shop()
    sealed = shop.sealer.seal(FIELDS)
    for place in range(len(sealed)):
        altered = sealed[:place] + bytes([sealed[place] ^ 1]) + sealed[place + 1 :]
        with pytest.raises(SecretError):
            shop.ann.open("house", "Book", altered)
    with pytest.raises(SecretError):
        shop.ann.open("house", "Tape", sealed)
    with pytest.raises(SecretError):
        shop.ann.open("house", "Book", sealed[:10])


def test_a_grant_travels_as_bytes() -> None:
    """Brokers carry it; it comes back as it was."""
    grant = Shop().ann_grant
    assert decode_grant(encode_grant(grant)) == grant
    with pytest.raises(SecretError, match="not a seal grant"):
        decode_grant(b"?")
