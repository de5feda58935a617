"""How Sphinx builds the site: `make docs` writes it to build/docs, offline, and fails on any warning.

The pages are plain Markdown, so that a code host shows them as they are. What only the site needs is added here while a
page is read: the navigation, from the links of index.md, and the docstrings of the names that reference/api.md lists.
"""

from __future__ import annotations

import re
from importlib import import_module
from importlib.metadata import version as installed
from typing import Any

project = "Agvent"
author = "The Agvent authors"
copyright = author
version = release = installed("agvent")

extensions = ["myst_parser", "sphinx.ext.autodoc"]
source_suffix = {".md": "markdown"}
default_role = "code"

myst_heading_anchors = 4
myst_enable_extensions = ["fieldlist"]

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
python_maximum_signature_line_length = 100
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_title = f"Agvent {version}"
html_static_path = ["site"]
html_css_files = ["agvent.css"]
html_show_sphinx = False
html_copy_source = False
pygments_style = "friendly"
pygments_dark_style = "monokai"

SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
PAGE = re.compile(r"^\| \[[^\]]+\]\(([\w/-]+)\.md\)", re.MULTILINE)
MODULE = re.compile(r"^Import from `([\w.]+)`", re.MULTILINE)
NAME = re.compile(r"^\| `(\w+)` \|", re.MULTILINE)


def sections(text: str) -> list[tuple[str, str]]:
    """The second-level headings of a page, each with the text below it."""
    parts = SECTION.split(text)
    return list(zip(parts[1::2], parts[2::2], strict=True))


def navigation(index: str) -> str:
    """The index with a hidden table of contents for each of its sections."""
    trees = [
        f"```{{toctree}}\n:hidden:\n:caption: {heading}\n\n" + "\n".join(PAGE.findall(below)) + "\n```\n"
        for heading, below in sections(index)
    ]
    return f"{index}\n" + "\n".join(trees)


def documented(api: str) -> str:
    """The page of the API with the docstrings of the names in its tables, each section's below it."""
    head, *_ = SECTION.split(api, maxsplit=1)
    return head + "\n".join(f"## {heading}{below}\n{docstrings(below)}" for heading, below in sections(api))


def docstrings(section: str) -> str:
    found = MODULE.search(section)
    module = found[1] if found else ""
    return "".join(f"```{{eval-rst}}\n{directive(module, name)}\n```\n" for name in NAME.findall(section))


def directive(module: str, name: str) -> str:
    thing = getattr(import_module(module), name)
    if not isinstance(thing, type):
        return f".. autofunction:: {module}.{name}"
    if issubclass(thing, Exception):
        return f".. autoexception:: {module}.{name}"
    return f".. autoclass:: {module}.{name}\n   :members:"


def read(_app: Any, page: str, source: list[str]) -> None:
    if page == "index":
        source[0] = navigation(source[0])
    elif page == "reference/api":
        source[0] = documented(source[0])


def setup(app: Any) -> None:
    app.connect("source-read", read)
