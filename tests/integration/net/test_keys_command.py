"""`agvent keys` makes what `agvent broker` and the other commands take."""

from __future__ import annotations

import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import msgspec
from cryptography import x509

from agvent.net.fleet.fleet import free_ports
from agvent.net.fleet.keys import make_authority

AGVENT = [sys.executable, "-m", "agvent.cli.main"]


def run(folder: Path, *words: str, code: int = 0) -> str:
    done = subprocess.run([*AGVENT, *words], cwd=folder, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_keys_open_a_broker(tmp_path: Path) -> None:
    """From nothing to a granted and a refused command; keys are readable by their owner only."""
    run(tmp_path, "keys", "authority", "keys")
    assert "has an authority already" in run(tmp_path, "keys", "authority", "keys", code=2)
    assert run(tmp_path, "keys", "broker", "keys", "B1") == "certificate: keys/B1.pem\nkey: keys/B1.key\n"
    run(tmp_path, "keys", "client", "keys", "ada", "--grant", "publish *", "--grant", "subscribe topic:a/#")
    made = msgspec.json.decode(run(tmp_path, "keys", "token", "keys", "root", "--grant", "administer *", "--json"))
    (tmp_path / "root.token").write_text(made["token"])
    assert "is not a grant" in run(tmp_path, "keys", "token", "keys", "x", "--grant", "rule *", code=2)
    assert run(tmp_path, "keys", "hosts", "keys") == "hosts: keys/hosts.key\nkeys: 1\n"
    assert run(tmp_path, "keys", "hosts", "keys") == "hosts: keys/hosts.key\nkeys: 2\n"
    shown = run(tmp_path, "keys", "own", "ann.keys")
    assert [line.split(": ")[0] for line in shown.splitlines()] == ["signing", "seal"]
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "keys").glob("*.key")} == {0o600}
    [port] = free_ports(1)
    tls = 'authority = "keys/authority.pem"\ncertificate = "keys/B1.pem"\nkey = "keys/B1.key"\n'
    tls += 'tokens = ["keys/tokens.pub"]\n'
    (tmp_path / "broker.toml").write_text(f'name = "B1"\nlisten = "0.0.0.0:{port}"\n[tls]\n{tls}')
    broker = subprocess.Popen([*AGVENT, "broker", "--config", "broker.toml"], cwd=tmp_path, stdout=subprocess.PIPE)
    try:
        assert broker.stdout is not None
        assert broker.stdout.readline().startswith(b"B1 listens on ")
        at = ["--at", f"127.0.0.1:{port}", "--authority", "keys/authority.pem"]
        as_ada = [*at, "--certificate", "keys/ada.pem"]
        assert "1 published" in run(tmp_path, "publish", '{"n": 1}', "--as", "ada", *as_ada)
        words = ["subscribe", "--as", "ada", "--detach", *as_ada]
        assert run(tmp_path, *words, "--pattern", "a/+") == "s1 is open\n"
        assert "denied: 'ada' has no grant `subscribe topic:#`" in run(tmp_path, *words, "--pattern", "#", code=2)
        assert "denied: 'ada' has no grant `administer *`" in run(tmp_path, "status", *as_ada, code=2)
        assert '"broker":"B1"' in run(tmp_path, "status", *at, "--token", "root.token", "--json")
        assert "need --authority" in run(tmp_path, "status", "--token", "root.token", code=2)
    finally:
        broker.terminate()
        broker.communicate(timeout=20)


def test_keys_that_are_there_stay(tmp_path: Path) -> None:
    """No name takes the network's own keys or those of somebody else; `--replace` makes a principal's anew."""
    run(tmp_path, "keys", "authority", "keys")
    run(tmp_path, "keys", "hosts", "keys")
    run(tmp_path, "keys", "broker", "keys", "B1")
    before = {path: path.read_bytes() for path in (tmp_path / "keys").iterdir()}
    for name in ("authority", "tokens", "hosts"):
        said = run(tmp_path, "keys", "client", "keys", name, "--replace", code=2)
        assert f"{name!r} is reserved for the network's own keys" in said
    for kind in ("client", "broker"):
        assert "keys/B1.pem exists already" in run(tmp_path, "keys", kind, "keys", "B1", code=2)
    (tmp_path / "keys" / "B1.pem").unlink()
    assert "keys/B1.key exists already" in run(tmp_path, "keys", "client", "keys", "B1", code=2)
    (tmp_path / "keys" / "authority.key").unlink()
    said = run(tmp_path, "keys", "authority", "keys", code=2)
    assert "keys has an authority already: authority.pem, tokens.key, tokens.pub" in said
    for path, data in before.items():
        path.write_bytes(data)
    run(tmp_path, "keys", "broker", "keys", "B1", "--replace")
    after = {path: path.read_bytes() for path in (tmp_path / "keys").iterdir()}
    assert sorted(path.name for path in after if after[path] != before[path]) == ["B1.key", "B1.pem"]


def test_a_certificate_is_good_for_as_long_as_was_asked(tmp_path: Path) -> None:
    """Half a day is no day less; its name may be longer than what a subject has room for."""
    name = "é" * 64
    run(tmp_path, "keys", "authority", "keys")
    run(tmp_path, "keys", "client", "keys", name, "--days", "0.5")
    made = x509.load_pem_x509_certificate((tmp_path / "keys" / f"{name}.pem").read_bytes())
    assert made.not_valid_after_utc - made.not_valid_before_utc == timedelta(hours=12, minutes=5)


def test_keys_that_are_damaged_are_named(tmp_path: Path) -> None:
    """The error says which file, and nothing is written."""
    keys = tmp_path / "keys"
    make_authority(keys)
    (keys / "hosts.key").write_bytes(b"short")
    (keys / "tokens.key").write_bytes(b"no PEM")
    (keys / "authority.key").write_bytes((keys / "tokens.pub").read_bytes())
    before = {path: path.read_bytes() for path in keys.iterdir()}
    assert "keys/hosts.key has 5 bytes" in run(tmp_path, "keys", "hosts", "keys", code=3)
    assert "keys/tokens.key holds no private Ed25519 key" in run(tmp_path, "keys", "token", "keys", "ada", code=2)
    assert "are not the key and certificate of an authority" in run(tmp_path, "keys", "client", "keys", "ada", code=2)
    assert {path: path.read_bytes() for path in keys.iterdir()} == before


def test_a_broker_checks_tokens_with_a_public_key(tmp_path: Path) -> None:
    """Another PEM in its place is a mistake in its file."""
    run(tmp_path, "keys", "authority", "keys")
    run(tmp_path, "keys", "broker", "keys", "B1")
    tls = 'authority = "keys/authority.pem"\ncertificate = "keys/B1.pem"\nkey = "keys/B1.key"\n'
    tls += 'tokens = ["keys/authority.pem"]\n'
    (tmp_path / "broker.toml").write_text(f'name = "B1"\nlisten = "127.0.0.1:0"\n[tls]\n{tls}')
    said = run(tmp_path, "broker", "--config", "broker.toml", code=2)
    assert "keys/authority.pem holds no public Ed25519 key\nhint: " in said
