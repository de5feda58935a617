"""Programs that mean harm. Each is the text of a class Evil with a behaviour `harm()`, and the faults it may have.

They bypass the checks on classes, as an attacker would: what arrives at a host is text.
"""

from __future__ import annotations

import textwrap

TIME, DEPTH = "TimeoutError", "RecursionError"
MEMORY = f"MemoryError|{TIME}"  # whichever a slow machine reaches first
ANSWER = ""


def _method(body: str) -> str:
    """The text of Evil whose harm() has this body."""
    return "class Evil:\n    def harm(self):\n" + textwrap.indent(textwrap.dedent(body).strip(), " " * 8) + "\n"


BODIES: dict[str, tuple[str, str]] = {
    # time
    "an endless loop": ("while True: pass", TIME),
    "an endless loop that catches everything": (
        """
        while True:
            try:
                while True: pass
            except BaseException: pass
        """,
        TIME,
    ),
    "a sum over ten billion": ("return sum(range(10**10))", TIME),
    "an endless iterator": ("import itertools\nreturn sum(itertools.count())", TIME),
    "hashes that all collide": (
        """
        class Same:
            def __hash__(self): return 1
            def __eq__(self, other): return False
        return len({Same() for _ in range(10**6)})
        """,
        TIME,
    ),
    "a factorial of a million": ("import math\nreturn math.factorial(10**6)", TIME),
    "a loop inside exec": ("exec('while True: pass')", TIME),
    "a long sleep": ("import time\ntime.sleep(10**6)\nreturn 'awake'", ANSWER),
    "a million short sleeps": ("import time\nwhile True: time.sleep(0.001)", f"{TIME}|RuntimeError"),
    "waiting for nothing": ("import asyncio\nreturn asyncio.run(asyncio.sleep(10**6))", ANSWER),
    "a regular expression that backtracks": (
        "import re\nreturn re.match(r'(a|a)*\\1$', 'a' * 40 + 'b') is None",
        "PatternError",
    ),
    "nested quantifiers": ("import re\nreturn re.match('(a+)+$', 'a' * 50 + 'b') is None", ANSWER),
    "integers that square themselves": ("n = 10\nwhile True: n = n * n", TIME),
    # memory
    "a list without end": ("x = []\nwhile True: x.append('a' * 100_000)", MEMORY),
    "a list without end that catches everything": (
        """
        x = []
        while True:
            try:
                x.append('a' * 100_000)
            except BaseException: pass
        """,
        MEMORY,
    ),
    "a string of a gigabyte": ("return len('x' * 10**9)", MEMORY),
    "bytes of a gigabyte": ("return len(bytes(10**9))", MEMORY),
    "a range of a billion as a list": ("return len(list(range(10**9)))", MEMORY),
    "a power of two of a billion bits": ("return 2 ** 10**9 > 0", MEMORY),
    "a shift by ten billion": ("return 1 << 10**10 > 0", MEMORY),
    "a join of a gigabyte": ("return len(''.join(['a' * 10**6] * 1000))", MEMORY),
    "a replacement that grows": ("return len(('a' * 10**5).replace('a', 'b' * 10**5))", MEMORY),
    "padding by format": ("return len('{:>1000000000}'.format(1))", MEMORY),
    "padding by percent": ("return len('%1000000000d' % 1)", MEMORY),
    "padding by ljust": ("return len('a'.ljust(10**9))", MEMORY),
    "a dict without end": ("d = {}\ni = 0\nwhile True:\n    d[i] = i\n    i += 1", MEMORY),
    "a product of iterators": ("import itertools\nreturn list(itertools.product(range(1000), repeat=4))", MEMORY),
    # depth
    "recursion without end": ("def f(): return f()\nreturn f()", DEPTH),
    "recursion that catches itself": (
        """
        def f():
            try: return f()
            except BaseException: return f()
        return f()
        """,
        TIME,
    ),
    "lists that contain themselves": ("x = []\nx.append(x)\ny = []\ny.append(y)\nreturn x == y", DEPTH),
    "json of a hundred thousand brackets": ("import json\nreturn json.loads('[' * 10**5)", "JSONDecodeError"),
    "eval of a hundred thousand brackets": ("return eval('(' * 10**5 + ')' * 10**5)", "SyntaxError"),
    # answers
    "an answer of twenty megabytes": ("return 'x' * 8_000_000", "the answer has 8000005 bytes"),
    "an answer nested a hundred thousand deep": (
        "x = []\nfor _ in range(10**5): x = [x]\nreturn x",
        "the answer is not a value that an event can hold",
    ),
    "an answer that contains itself": ("x = []\nx.append(x)\nreturn x", ANSWER),
    "an answer that is a class": ("return Evil", ANSWER),
    "an answer that is the agvent": ("return self", "the answer is not a value that an event can hold"),
    "an integer of a thousand bits": ("return 2 ** 1000", "the answer is not a value that an event can hold"),
    "a lone surrogate": ("return chr(0xD800)", "ValueError"),
    "printing without end": ("while True: print('x' * 10_000)", MEMORY),
    "an answer in place of all answers": (
        "global _agvent_run\n_agvent_run = lambda tasks: 'everything is fine'\nreturn 1",
        ANSWER,
    ),
    # ways out
    "the classes of Python": ("return ().__class__.__bases__[0].__subclasses__()", "AttributeError"),
    "the globals of a function": ("return self.harm.__globals__", "AttributeError"),
    "the frames of an exception": (
        "try:\n    1 / 0\nexcept Exception as error:\n    return error.__traceback__.tb_frame",
        "AttributeError",
    ),
    "builtins by name": ("return __builtins__", "NameError"),
    "import by function": ("return __import__('os').system('id')", "NameError"),
    "subprocess": ("import subprocess\nreturn subprocess.run(['id'])", "ModuleNotFoundError"),
    "sockets": ("import socket\nreturn socket.socket()", "ModuleNotFoundError"),
    "ctypes": ("import ctypes\nreturn ctypes.CDLL(None)", "ModuleNotFoundError"),
    "our own code": ("import agvent\nreturn agvent.__file__", "ModuleNotFoundError"),
    "the file of passwords": ("return open('/etc/passwd').read()", "PermissionError"),
    "the same by pathlib": ("from pathlib import Path\nreturn Path('/etc/passwd').read_text()", "PermissionError"),
    "the environment": ("import os\nreturn os.environ['PATH']", "RuntimeError"),
    "a signal to its parent": ("import os\nreturn os.kill(os.getppid(), 9)", "AttributeError"),
    "a function of the host's": ("return launch_missiles('now')", "NameError"),
    "asking the host a million times": (
        "for _ in range(10**6):\n    try: nobody_knows_this_name\n    except NameError: pass\nreturn 1",
        f"{TIME}|it asked too much",
    ),
    "a time before the first year": (
        "import datetime as d\nreturn d.datetime(1, 1, 1, tzinfo=d.timezone(d.timedelta(hours=14)))",
        "the answer is not a value that an event can hold",
    ),
    "leaving the process": ("raise SystemExit(1)", "RuntimeError"),
    "an interrupt": ("raise KeyboardInterrupt()", "KeyboardInterrupt"),
    "an exception with a secret in it": ("raise ValueError('canary')", "ValueError"),
}

WHOLE: dict[str, tuple[str, str]] = {
    "a loop while it loads": ("while True: pass\n" + _method("return 1"), TIME),
    "no class at all": ("x = 1\n", "NameError"),
    "text that is no Python": ("class Evil(:\n", "SyntaxError"),
    "ten thousand parentheses": ("x = " + "(" * 10_000 + ")" * 10_000 + "\n" + _method("return 1"), "SyntaxError"),
    "a class that cannot be made": ("class Evil:\n    def __init__(self): 1 / 0\n", "ZeroDivisionError"),
    "a setattr of its own": ("def setattr(*_): while_true()\n" + _method("return 1"), ANSWER),
    "a getattr that loops": ("def getattr(*_):\n    while True: pass\n" + _method("return 1"), TIME),
    "an Exception of its own": ("Exception = 3\n" + _method("return 1 / 0"), "TypeError"),
    "memory while it loads": ("x = 'a' * 10**9\n" + _method("return 1"), MEMORY),
}

HOSTILE = {name: (_method(body), fault) for name, (body, fault) in BODIES.items()} | WHOLE
"""By what they try: the text, and the faults that it may have, one of which it has. ANSWER is none."""
