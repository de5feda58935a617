"""The `agvent` command as a user runs it: real processes, real pipes, real files."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from agvent import limits
from agvent.store.line_chunks import CHUNK_BYTES

AGVENT = str(Path(sys.executable).with_name("agvent"))

ENVIRONMENT = {
    name: value for name, value in os.environ.items() if name not in ("COLUMNS", "FORCE_COLOR", "PYTHONUNBUFFERED")
} | {"TERM": "xterm"}
"""Without what would change the width, the colours or the buffering that a user has."""

SUBSCRIPTIONS = b"""\
{"id": "s7", "language": "sql", "filter": "pages > 200"}
{"id": "s1", "language": "tags", "filter": "author=V. P.,publisher=*", "colour": "ignored"}
{"id": "t", "topic": "books/new"}
{"id": "p", "pattern": "books/#", "filter": "pages <= 200"}
{"id": "c", "channel": 42}
{"id": "b", "type": "Product"}
"""

EVENTS = b"""\
{"author": "V. P.", "pages": 301, "publisher": "X"}
{"$topic": "books/new", "pages": 100}
{"pages": null}
{"$channel": 42, "$type": ["Book", "Product"], "pages": 200.5}
"""

MATCHES = [
    {"event": 0, "subscriptions": ["s1", "s7"]},
    {"event": 1, "subscriptions": ["p", "t"]},
    {"event": 3, "subscriptions": ["b", "c", "s7"]},
]


PRESSED = """\
import sys
class CtrlC:
    def find_spec(self, name, path, target=None):
        if name == "agvent.cli.up":
            raise KeyboardInterrupt
sys.meta_path.insert(0, CtrlC())
import agvent.cli.main
"""
"""Ctrl-C while the command imports one of its parts."""


class Done(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


def agvent(*words: str | Path, given: bytes = b"", folder: Path | None = None) -> Done:
    run = subprocess.run(
        [AGVENT, *words], input=given, capture_output=True, cwd=folder, env=ENVIRONMENT, check=False, timeout=300
    )
    return Done(run.returncode, run.stdout.decode(), run.stderr.decode())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "subscriptions.jsonl").write_bytes(SUBSCRIPTIONS)
    (tmp_path / "events.jsonl").write_bytes(EVENTS)
    return tmp_path


def match(folder: Path, *words: str, events: bytes = EVENTS) -> Done:
    """Runs `agvent match` with these events on a pipe."""
    return agvent("match", "subscriptions.jsonl", "-", *words, given=events, folder=folder)


def test_match_prints_json_lines_on_a_pipe(folder: Path) -> None:
    """Events are counted from 0 over all lines, ids are in code-point order, an event without a match is left out."""
    done = agvent("match", "subscriptions.jsonl", "events.jsonl", folder=folder)
    assert done == (0, "".join(f"{json.dumps(match)}\n" for match in MATCHES), "")


def test_match_reads_either_file_from_standard_input(folder: Path) -> None:
    """`-` is standard input, for events and for subscriptions alike."""
    assert match(folder).lines == MATCHES
    assert agvent("match", "-", "events.jsonl", given=SUBSCRIPTIONS, folder=folder).lines == MATCHES


def test_standard_input_cannot_be_both(folder: Path) -> None:
    """There is only one standard input."""
    message = "error: SUBSCRIPTIONS and EVENTS cannot both be standard input\n"
    assert agvent("match", "-", "-", folder=folder) == (2, "", message)


@pytest.mark.parametrize("ending", [b"", b"\n", b"\r\n", b"\n\n"])
def test_the_last_line_counts_with_any_ending(folder: Path, ending: bytes) -> None:
    """A last line without an end is a line, and an empty line after it changes nothing."""
    assert match(folder, events=b'{"pages": 300}' + ending) == (0, '{"event": 0, "subscriptions": ["s7"]}\n', "")


def test_blank_lines_are_counted_and_skipped(folder: Path) -> None:
    """An empty line is no event and no mistake, but it has a number."""
    done = match(folder, events=b'\n{"pages": 300}\n  \n{"pages": 300}\n')
    assert [line["event"] for line in done.lines] == [1, 3]
    assert done.code == 0


def test_no_events_and_no_subscriptions_are_no_mistake(folder: Path) -> None:
    """Empty files match nothing."""
    assert match(folder, events=b"") == (0, "", "")
    assert agvent("match", "-", "events.jsonl", given=b"", folder=folder) == (0, "", "")


def test_the_event_number_goes_on_over_chunks(folder: Path) -> None:
    """Input of many chunks is one stream: lines that straddle a chunk's end are whole, and numbers go on."""
    pad = "x" * 1000
    events = "".join(f'{{"pages": {n % 1000}, "pad": "{pad}"}}\n' for n in range(12_000)).encode()
    assert len(events) > 2 * CHUNK_BYTES
    (folder / "large.jsonl").write_bytes(events)
    expected = [{"event": n, "subscriptions": ["s7"]} for n in range(12_000) if n % 1000 > 200]
    assert agvent("match", "subscriptions.jsonl", "large.jsonl", folder=folder).lines == expected
    assert match(folder, events=events).lines == expected


def test_count_prints_one_object_on_a_pipe(folder: Path) -> None:
    """`--format count` gives the totals alone."""
    counts = '{"events": 4, "subscriptions": 6, "matches": 7, "rejected": 0}\n'
    assert match(folder, "--format", "count") == (0, counts, "")
    skipped = match(folder, "--format", "count", "--on-error", "skip", events=EVENTS + b"x\n")
    assert skipped.out == '{"events": 5, "subscriptions": 6, "matches": 7, "rejected": 1}\n'


def test_table_can_be_asked_for_on_a_pipe(folder: Path) -> None:
    """`--format table` has a row per event and a sentence with the totals."""
    done = match(folder, "--format", "table")
    rows = [line.split() for line in done.out.splitlines()]
    assert rows[:4] == [
        ["event", "matches", "subscriptions"],
        ["0", "2", "s1,", "s7"],
        ["1", "2", "p,", "t"],
        ["3", "3", "b,", "c,", "s7"],
    ]
    assert re.fullmatch(r"4 events against 6 subscriptions: 7 matches \([\d,]+ events/s\)", " ".join(rows[4]))


def test_a_table_says_how_many_ids_it_leaves_out(tmp_path: Path) -> None:
    """A row shows 20 ids; square brackets in an id are text, not markup."""
    ids = [f"[red]{n:02}" for n in range(23)]
    subscriptions = "".join(json.dumps({"id": id, "filter": "a = 1"}) + "\n" for id in ids).encode()
    (tmp_path / "e").write_text('{"a": 1}')
    done = agvent("match", "-", "e", "--format", "table", given=subscriptions, folder=tmp_path)
    shown = " ".join(done.out.split("\n4 events")[0].split())
    assert ", ".join(ids[:20]) + " and 3 more" in shown


@pytest.mark.parametrize(
    "line",
    [b"nonsense", b'{"pages": 1e400}', b'{"pages": 99999999999999999999}', b'{"a": "\xff"}', b"[1]", b'{"$x": 1}'],
)
def test_a_bad_event_stops_the_run(folder: Path, line: bytes) -> None:
    """The error names the line, counted from 1; everything before it has been written, nothing after it."""
    done = match(folder, events=EVENTS + line + b'\n{"pages": 300}\n')
    assert done.code == 2
    assert done.lines == MATCHES
    assert done.err.startswith("error: standard input line 5: ")
    assert "Traceback" not in done.err


def test_a_bad_event_can_be_skipped(folder: Path) -> None:
    """With --on-error skip bad lines are warnings, and what follows is matched under its own number."""
    done = match(folder, "--on-error", "skip", events=b'{"pages": 300}\n{bad\n{"pages": 300}\n')
    assert done.code == 0
    assert [line["event"] for line in done.lines] == [0, 2]
    first, last = done.err.splitlines()
    assert first.startswith("warning: standard input line 2: ")
    assert last == "warning: standard input: 1 of 3 lines skipped"


def test_warnings_are_bounded(folder: Path) -> None:
    """After 20 bad lines the rest is only counted."""
    done = match(folder, "--on-error", "skip", events=b"bad\n" * 1000)
    assert done.code == 0
    assert len(done.err.splitlines()) == 21
    assert done.err.splitlines()[-1] == "warning: standard input: 1,000 of 1,000 lines skipped"


def test_a_line_longer_than_any_event_is_refused_by_number(folder: Path) -> None:
    """A line beyond the limit is not read into memory; the lines around it are matched."""
    long = b'{"pages": 300, "pad": "' + b"x" * (limits.EVENT_BYTES_MAX + 2**23) + b'"}\n'
    done = match(folder, "--on-error", "skip", events=b'{"pages": 300}\n' + long + b'{"pages": 300}\n')
    assert [line["event"] for line in done.lines] == [0, 2]
    assert done.err.startswith("warning: standard input line 2: ")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"nonsense", "error: subscriptions.jsonl line 7: "),
        (b'{"filter": "a = 1"}', "error: subscriptions.jsonl line 7: "),
        (b'{"id": 5}', "error: subscriptions.jsonl line 7: "),
        (b'{"id": "x", "language": "latin", "filter": "a"}', "error: subscriptions.jsonl line 7: "),
        (b'{"id": "x", "topic": "a", "channel": "b"}', "error: subscriptions.jsonl line 7: "),
        (b'{"id": "s1"}', "error: subscriptions.jsonl line 7: the id 's1' is taken by line 2\n"),
    ],
)
def test_a_bad_subscription_is_named_by_its_line(folder: Path, line: bytes, message: str) -> None:
    """The error names file and line, and a taken id both lines; nothing is matched."""
    (folder / "subscriptions.jsonl").write_bytes(SUBSCRIPTIONS + line)
    done = match(folder)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(message)
    assert "Traceback" not in done.err


def test_a_bad_filter_has_a_caret(folder: Path) -> None:
    """The caret stands under the place where the filter could not be read."""
    (folder / "subscriptions.jsonl").write_bytes(b'\n{"id": "x", "filter": "pages > > 3"}\n')
    done = match(folder)
    assert done.code == 2
    first, text, caret, *_ = done.err.splitlines()
    assert first.startswith("error: subscriptions.jsonl line 2: in the filter of 'x', line 1, column 9: ")
    assert (text, caret) == ("  pages > > 3", "          ^")


def test_the_language_of_lines_that_name_none(folder: Path) -> None:
    """`--language` is the default; a line's own language wins."""
    (folder / "subscriptions.jsonl").write_text(
        '{"id": "a", "filter": "Make=Ford"}\n{"id": "b", "language": "sql", "filter": "Make = \'Ford\'"}\n'
    )
    done = match(folder, "--language", "tags", events=b'{"Make": "Ford"}')
    assert done == (0, '{"event": 0, "subscriptions": ["a", "b"]}\n', "")


@pytest.mark.parametrize("words", [("match", "no.jsonl", "events.jsonl"), ("match", "subscriptions.jsonl", "no.jsonl"),
                                   ("filter", "check", "no.jsonl"), ("explain", "a = 1", "@no.jsonl")])  # fmt: skip
def test_a_missing_file_is_the_environments_fault(folder: Path, words: tuple[str, ...]) -> None:
    """Exit code 3, and the file's name."""
    assert agvent(*words, folder=folder) == (3, "", "error: no.jsonl: No such file or directory\n")


def test_a_folder_is_no_file(folder: Path) -> None:
    """Exit code 3 for what cannot be read as a file."""
    assert agvent("match", "subscriptions.jsonl", ".", folder=folder) == (3, "", "error: .: Is a directory\n")


@pytest.mark.parametrize(
    "words",
    [(), ("nothing",), ("match",), ("match", "a", "b", "--format", "xml"), ("filter",), ("match", "a", "b", "--x")],
)
def test_wrong_arguments(words: tuple[str, ...]) -> None:
    """Exit code 2, what is wrong, and where help is."""
    done = agvent(*words)
    assert (done.code, done.out) == (2, "")
    error, hint = done.err.splitlines()
    assert error.startswith("error: ")
    assert re.fullmatch(r"hint: agvent( match| filter)? --help", hint)


@pytest.mark.parametrize("words", [(), ("match",), ("explain",), ("filter",), ("filter", "check"),
                                   ("filter", "translate"), ("filter", "covers")])  # fmt: skip
def test_help_is_for_people(words: tuple[str, ...]) -> None:
    """Help goes to standard output, with examples and exit codes."""
    done = agvent(*words, "--help")
    assert (done.code, done.err) == (0, "")
    assert "examples:" in done.out
    assert "exit codes:" in done.out


def test_version() -> None:
    """`--version` prints name and version."""
    assert re.fullmatch(r"agvent \d+\.\d+\.\d+\n", agvent("--version").out)


def test_a_reader_that_stops_ends_the_run_quietly(folder: Path) -> None:
    """When the output's reader goes away there is no message, and the exit code says why."""
    (folder / "large.jsonl").write_bytes(b'{"pages": 300}\n' * 500_000)
    command = [AGVENT, "match", "subscriptions.jsonl", "large.jsonl"]
    process = subprocess.Popen(command, cwd=folder, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout
    assert process.stderr
    assert process.stdout.readline() == b'{"event": 0, "subscriptions": ["s7"]}\n'
    process.stdout.close()
    with process.stderr:
        assert process.stderr.read() == b""
    assert process.wait() == 141


def test_a_reader_of_a_table_that_stops_ends_the_run_quietly(folder: Path) -> None:
    """The table is no exception."""
    (folder / "large.jsonl").write_bytes(b'{"pages": 300}\n' * 50_000)
    command = [AGVENT, "match", "subscriptions.jsonl", "large.jsonl", "--format", "table"]
    process = subprocess.Popen(command, cwd=folder, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout
    assert process.stderr
    assert process.stdout.readline().split() == [b"event", b"matches", b"subscriptions"]
    process.stdout.close()
    with process.stderr:
        assert process.stderr.read() == b""
    assert process.wait() == 141


@pytest.mark.parametrize(
    ("closing", "code", "out", "err"),
    [
        (">&-", 3, "", "error: standard output is closed\n"),
        ("2>&-", 0, "".join(f"{json.dumps(one)}\n" for one in MATCHES), ""),
        (">&- 2>&-", 3, "", ""),
        ("<&-", 3, "", "error: standard input is closed\n"),
    ],
)
def test_a_closed_stream(folder: Path, closing: str, code: int, out: str, err: str) -> None:
    """Without an output or input there is an error; without standard error, nothing is said and all is done."""
    script = f'"{AGVENT}" match subscriptions.jsonl - {closing}'
    run = subprocess.run(
        ["sh", "-c", script], input=EVENTS, capture_output=True, cwd=folder, env=ENVIRONMENT, check=False
    )
    assert Done(run.returncode, run.stdout.decode(), run.stderr.decode()) == (code, out, err)


def test_a_closed_input_is_nobody_elses(folder: Path) -> None:
    """A command of the network needs none, and no socket gets its number."""
    script = f'"{AGVENT}" status --at 127.0.0.1:1 <&-'
    run = subprocess.run(["sh", "-c", script], capture_output=True, cwd=folder, env=ENVIRONMENT, check=False)
    assert (run.returncode, run.stderr.splitlines()[0]) == (3, b"error: 127.0.0.1:1: Connection refused")


def test_ctrl_c_while_a_command_is_loaded_says_nothing(folder: Path) -> None:
    """The exit code is that of an interruption, and there is no traceback."""
    run = subprocess.run([sys.executable, "-c", PRESSED], capture_output=True, cwd=folder, check=False)
    assert (run.returncode, run.stderr) == (130, b"")


def test_a_byte_order_mark_is_skipped(folder: Path) -> None:
    """At the start of a file, as some programs write one; elsewhere it is no JSON."""
    for name in ("subscriptions.jsonl", "events.jsonl"):
        (folder / name).write_bytes(b"\xef\xbb\xbf" + (folder / name).read_bytes())
    assert agvent("match", "subscriptions.jsonl", "events.jsonl", folder=folder).lines == MATCHES
    assert agvent("explain", "a = 1", "-", given=b'\xef\xbb\xbf{"a": 1}').code == 0
    done = match(folder, events=b'{}\n\xef\xbb\xbf{"pages": 300}\n')
    assert done == (2, "", "error: standard input line 2: JSON is malformed: a byte order mark stands before it\n")


def live(folder: Path) -> subprocess.Popen[bytes]:
    """A run that waits for events, after its first answer."""
    command = [AGVENT, "match", "subscriptions.jsonl", "-"]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, cwd=folder, env=ENVIRONMENT, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0)
    assert process.stdin
    assert process.stdout
    process.stdin.write(b'{"pages": 300}\n')
    assert process.stdout.readline() == b'{"event": 0, "subscriptions": ["s7"]}\n'
    return process


def test_a_slow_stream_is_answered_as_it_comes(folder: Path) -> None:
    """An answer does not wait for more input, and half a line waits for its other half."""
    process = live(folder)
    assert process.stdin
    assert process.stdout
    process.stdin.write(b'{"pages": 100}\n{"pag')
    process.stdin.write(b'es": 300}\n')
    assert process.stdout.readline() == b'{"event": 2, "subscriptions": ["s7"]}\n'
    process.stdin.write(b'{"pages": 300}')
    assert process.communicate() == (b'{"event": 3, "subscriptions": ["s7"]}\n', b"")
    assert process.returncode == 0


def test_an_interrupt_ends_the_run_quietly(folder: Path) -> None:
    """Ctrl-C gives exit code 130 and no traceback."""
    process = live(folder)
    process.send_signal(signal.SIGINT)
    assert process.communicate() == (b"", b"")
    assert process.returncode == 130


@pytest.mark.parametrize("form", ["jsonl", "table", "count"])
def test_a_full_disk_is_the_environments_fault(folder: Path, form: str) -> None:
    """Output that cannot be written is exit code 3, not silence."""
    command = [AGVENT, "match", "subscriptions.jsonl", "events.jsonl", "--format", form]
    with Path("/dev/full").open("wb") as full:
        run = subprocess.run(command, cwd=folder, env=ENVIRONMENT, stdout=full, stderr=subprocess.PIPE, check=False)
    assert (run.returncode, run.stderr) == (3, b"error: No space left on device\n")


def peak_bytes(folder: Path, events: Path) -> int:
    """The most memory a run over these events had."""
    program = (
        "import resource, sys; from agvent.cli.main import main; main(sys.argv[1:]);"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)"
    )
    words = ["match", "subscriptions.jsonl", str(events), "--format", "count"]
    run = subprocess.run([sys.executable, "-c", program, *words], cwd=folder, capture_output=True, check=True)
    return int(run.stdout.splitlines()[-1])


def test_memory_does_not_grow_with_the_events(folder: Path) -> None:
    """Ten times the events take no more memory than a few chunks more."""
    small, large = folder / "small.jsonl", folder / "large.jsonl"
    lines = b'{"pages": 300, "author": "V. P.", "publisher": "X"}\n' * 200_000
    small.write_bytes(lines)
    large.write_bytes(lines * 10)
    assert peak_bytes(folder, large) - peak_bytes(folder, small) < 32 * 2**20


def on_a_terminal(command: list[str], folder: Path) -> tuple[int, str]:
    """Runs a command with a terminal as standard output and standard error."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        command, cwd=folder, env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=slave, stderr=slave
    )
    os.close(slave)
    shown = bytearray()
    try:
        while part := os.read(master, 65_536):
            shown += part
    except OSError:  # EIO: the terminal's last user is gone
        pass
    os.close(master)
    return process.wait(), re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown.decode())


def test_a_terminal_gets_a_table_and_a_progress_bar(folder: Path) -> None:
    """On a terminal the default is a table with a sentence below, and a bar while it runs."""
    code, shown = on_a_terminal([AGVENT, "match", "subscriptions.jsonl", "events.jsonl"], folder)
    assert code == 0
    assert re.search(r"event +matches +subscriptions", shown)
    assert re.search(r"0 +2 +s1, s7", shown)
    assert "4 events against 6 subscriptions: 7 matches" in shown
    assert re.search(r"events .*bytes", shown)


def test_a_terminal_gets_a_sentence_for_count(folder: Path) -> None:
    """On a terminal --format count is for people."""
    code, shown = on_a_terminal([AGVENT, "match", "subscriptions.jsonl", "events.jsonl", "--format", "count"], folder)
    assert code == 0
    assert "4 events against 6 subscriptions: 7 matches (" in shown


def test_explain_says_why_and_its_exit_code_says_whether(tmp_path: Path) -> None:
    """0 for a match, 1 for none; the event may be an argument, a file or standard input."""
    event = '{"price": 99.5, "symbol": "IBM"}'
    (tmp_path / "event.json").write_text(event)
    for words, given in ([event], ""), (["@event.json"], ""), (["-"], event):
        yes = agvent("explain", "price < 100", *words, given=given.encode(), folder=tmp_path)
        no = agvent("explain", "price > 100 AND symbol = 'IBM'", *words, given=given.encode(), folder=tmp_path)
        assert (yes.code, yes.err) == (0, "")
        assert (no.code, no.err) == (1, "")
        assert "99.5" in no.out


def test_explain_as_json() -> None:
    """`--json` prints one object."""
    done = agvent("explain", "--json", "price > 100", '{"price": 99.5}')
    assert done.code == 1
    assert isinstance(json.loads(done.out), dict)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("a = = 1", "{}"), "error: line 1, column 5: "),
        (("a = 1", "{"), "error: the line ends before its JSON does"),
        (("a = 1", "[]"), "error: an event is a JSON object, not an array"),
        (("a = 1", b"\xff".decode(errors="surrogateescape")), "error: byte 0 is not UTF-8"),
        (("a = 1", "{}", "--language", "latin"), "error: "),
    ],
)
def test_explain_with_a_mistake(words: tuple[str, ...], message: str) -> None:
    """A bad filter, event or language is exit code 2."""
    done = agvent("explain", *words)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(message)
    assert "Traceback" not in done.err


def test_filter_check_of_a_good_file(folder: Path) -> None:
    """Exit code 0 and how many there are."""
    assert agvent("filter", "check", "subscriptions.jsonl", folder=folder) == (0, "6 subscriptions, no errors\n", "")
    as_json = agvent("filter", "check", "--json", "-", given=SUBSCRIPTIONS)
    assert as_json == (0, '{"subscriptions": 6, "errors": []}\n', "")


BAD = b"""\
{"id": "a", "filter": "x = 1"}
{"id": "b", "filter": "x = = 1"}
not json
{"id": "a", "filter": "x = 2"}
{"id": "c", "filter": "x BETWEEN 1"}
"""


def test_filter_check_reports_every_error() -> None:
    """Exit code 1; every wrong line is reported, filters with a caret."""
    done = agvent("filter", "check", "-", given=BAD)
    assert (done.code, done.err) == (1, "")
    reports = [line for line in done.out.splitlines() if line.startswith("error: ")]
    assert [re.findall(r"line (\d+)", report)[0] for report in reports] == ["2", "3", "4", "5"]
    assert done.out.count("^") == 2
    assert done.out.splitlines()[-1] == "4 of 5 subscriptions have errors"


def test_filter_check_as_json() -> None:
    """One object with the place of every error."""
    done = agvent("filter", "check", "-", "--json", given=BAD)
    assert done.code == 1
    report = json.loads(done.out)
    assert report["subscriptions"] == 5
    places = [(error["line"], error["id"], error["filter_line"], error["column"]) for error in report["errors"]]
    assert places[:3] == [(2, "b", 1, 5), (3, None, None, None), (4, "a", None, None)]
    assert report["errors"][2]["message"] == "the id 'a' is taken by line 1"


ELVIN = 'require(user) && begins-with(user, "al") && !(age <= 20)'
IN_SQL = "user IS NOT NULL AND user LIKE 'al%' AND age > 20"


def test_filter_translate() -> None:
    """The filter in the other language, alone on standard output; as JSON with the text it came from."""
    assert agvent("filter", "translate", ELVIN, "--from", "elvin", "--to", "sql") == (0, f"{IN_SQL}\n", "")
    assert agvent("filter", "translate", "Make=Ford", "--from", "tags") == (0, "Make = 'Ford'\n", "")
    done = agvent("filter", "translate", "--json", "a = 1", "--to", "elvin")
    assert (done.code, done.lines) == (0, [{"from": "sql", "to": "elvin", "filter": "a = 1", "translation": "a == 1L"}])


def test_filter_translate_refuses_what_has_no_words() -> None:
    """Exit code 2 and the part that cannot be said; a bad filter has a caret."""
    done = agvent("filter", "translate", "a == 1 && fold-case(b) == 'x'", "--from", "elvin", "--to", "sql")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("error: SQL cannot express Function Function(name='fold-case'")
    bad = agvent("filter", "translate", "a = 1", "--from", "elvin")
    assert (bad.code, bad.out) == (2, "")
    assert bad.err == (
        "error: line 1, column 3: expected an operator or the end, found '='\n  a = 1\n    ^\nhint: Elvin writes ==\n"
    )


def test_filter_covers() -> None:
    """Exit code 0 is a proof, 1 is none; in any language, and as JSON."""
    assert agvent("filter", "covers", "a > 1", "a > 2 AND b = 3") == (0, "A covers B\n", "")
    assert agvent("filter", "covers", "a > 2", "a > 1") == (1, "not proven: A may accept less than B\n", "")
    assert agvent("filter", "covers", "--language", "elvin", "require(a)", "a == 1", "--json") == (
        0,
        '{"covers": true}\n',
        "",
    )
    done = agvent("filter", "covers", "Sports/+", "Sports/#", "--language", "pattern", "--json")
    assert done == (1, '{"covers": false}\n', "")
    assert agvent("filter", "covers", "a >", "a > 1").code == 2


def test_elvin_subscriptions_match_events(folder: Path) -> None:
    """A file of subscriptions may name Elvin; an integer in JSON is an int64."""
    lines = [
        {"id": "e1", "language": "elvin", "filter": "require(pages) && pages & 1 == 1"},
        {"id": "e2", "language": "elvin", "filter": "int64(pages) && contains(author, 'V', 'W')"},
        {"id": "e3", "language": "elvin", "filter": "int32(pages)"},
    ]
    (folder / "subscriptions.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    assert match(folder).lines == [{"event": 0, "subscriptions": ["e1", "e2"]}]


MENU = "<menu><drink><price>2.90</price></drink></menu>"


def test_xml_events_on_the_command_line(tmp_path: Path) -> None:
    """XPath subscriptions, events with `$xml`, a bad document by its line, and explain."""
    (tmp_path / "s").write_text('{"id": "dear", "language": "xpath", "filter": "/menu/drink[price > 1.80]"}\n')
    events = "".join(json.dumps({"$xml": xml}) + "\n" for xml in (MENU, "<menu/>", "<menu>", MENU)).encode()
    done = agvent("match", "s", "-", "--on-error", "skip", given=events, folder=tmp_path)
    assert done.lines == [{"event": 0, "subscriptions": ["dear"]}, {"event": 3, "subscriptions": ["dear"]}]
    assert done.err.splitlines()[0].startswith(
        "warning: standard input line 3: $xml is not well-formed, line 1, column 7"
    )
    assert agvent("filter", "check", "s", folder=tmp_path) == (0, "1 subscriptions, no errors\n", "")
    explained = agvent("explain", "--language", "xpath", "/menu/drink[price > 1.80]", json.dumps({"$xml": MENU}))
    assert (explained.code, explained.out.splitlines()[0]) == (0, "matches")


def test_a_question_that_was_not_answered_is_a_warning(tmp_path: Path) -> None:
    """It names the line, the subscription and the bound, and the run goes on."""
    (tmp_path / "s").write_text('{"id": "bomb", "language": "xpath", "filter": "//a[//a[//a]]"}\n')
    events = json.dumps({"$xml": f"<r>{'<a/>' * 2000}</r>"}).encode()
    done = agvent("match", "s", "-", given=events, folder=tmp_path)
    assert (done.code, done.out) == (0, "")
    first, last = done.err.splitlines()
    assert first.startswith("warning: standard input line 1: bomb not answered: //a[//a[//a]] may need ")
    assert last == "warning: standard input: 1 questions not answered, which count as no match"
