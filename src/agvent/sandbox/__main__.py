"""The sandbox host as a process of its own: `python -m agvent.sandbox KEY_FILE`, requests on standard input.

The key file has the private keys of the network's hosts, 32 bytes each, the newest last. This process and its workers
are the only ones that read it; with `--make` it makes one that is missing. It ends when its standard input does, and
with it its workers.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any

from agvent import limits
from agvent.agents.execution.signed_programs import Programs
from agvent.agents.secrecy.hidden_fields import HostKeys
from agvent.errors import AdmissionError, SandboxFault
from agvent.sandbox.host import SandboxHost, report
from agvent.sandbox.key_file import host_keys, make_host_key
from agvent.sandbox.pipe_messages import (
    HostAdmit,
    HostAdmitted,
    HostArrive,
    HostArrived,
    HostBegin,
    HostForget,
    HostForgotten,
    HostListQuarantined,
    HostQuarantined,
    HostRan,
    HostReady,
    HostRelease,
    HostReleased,
    HostRoute,
    HostRouted,
    HostRun,
    HostTrust,
    HostTrusted,
    Reply,
    Request,
    fault_reply,
    framed,
    read,
    write,
)


def reply_to(host: SandboxHost, request: Request) -> Reply:
    """Carries out a request."""
    match request:
        case HostRun(number, tasks):
            return HostRan(number, tuple(host.run(tasks)))
        case HostArrive(number, arrival):
            return HostArrived(number, host.arrive(arrival))
        case HostRoute(number, stops):
            return HostRouted(number, tuple(host.route(stops)))
        case HostAdmit(number, signed, load):
            try:
                host.admit(signed, load=load)
            except AdmissionError as error:
                return HostAdmitted(number, error.message)
            return HostAdmitted(number, "")
        case HostTrust(number, principal, key):
            host.programs.grant(principal, key)
            return HostTrusted(number)
        case HostForget(number, program):
            host.programs.forget(program)
            return HostForgotten(number)
        case HostRelease(number, program):
            return HostReleased(number, host.release(program))
        case HostListQuarantined(number):
            return HostQuarantined(number, host.quarantined())
        case HostBegin():
            raise AssertionError("a host begins once")


def framed_reply(host: SandboxHost, request: Request) -> bytes:
    """The reply as it is written. A request that fails outside its turns is a fault of its publisher's alone."""
    try:
        return framed(reply_to(host, request))
    except Exception as error:  # noqa: BLE001  the boundary of a request: the other publishers' go on
        report(error)
        return framed(fault_reply(request, f"{type(error).__name__} in the sandbox host"))


def serve(requests: IO[bytes], replies: IO[bytes], keys: HostKeys) -> None:
    """Answers requests until there are no more. Each has a thread; a principal's still take turns."""
    begin: HostBegin = read(requests)
    host = SandboxHost(Programs(begin.grants), keys, workers=begin.workers, allowances=begin.allowances)
    lock = threading.Lock()

    def answer(request: Any) -> None:
        try:
            reply = framed_reply(host, request)
            with lock:
                replies.write(reply)
                replies.flush()
        except BaseException:  # noqa: BLE001  the boundary of a thread: whoever waits must not wait for ever
            traceback.print_exc()
            os._exit(1)

    with host, ThreadPoolExecutor(limits.HOST_REQUESTS_MAX) as threads:
        write(replies, HostReady(begin.number, keys.public))
        while (request := read(requests)) is not None:
            threads.submit(answer, request)


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the broker, which then closes the pipe
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever prints, prints beside the replies
    try:
        *options, file = sys.argv[1:]
        if "--make" in options and not Path(file).exists():
            make_host_key(Path(file))
        serve(sys.stdin.buffer, replies, host_keys(Path(file)))
    except SandboxFault as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
