"""A saved index: one file of aligned arrays behind a description, mapped into memory as it lies.

    magic (8 bytes) | format version (u32) | header size (u32) | CRC-32 of the header (u32) | header (JSON) | arrays

Each array begins at a multiple of 64 bytes; the header has its dtype, shape, place and CRC-32. A file appears whole or
not at all: it is written beside its name, synced, and renamed. `load_index` checks every byte before any is used,
because a kernel trusts its arrays; `verify=False` skips that for a file this machine has verified already, and then
loading takes milliseconds whatever the size.

Arrays that are not the index's own may lie beside them in the same file, under names of their writer's.
"""

from __future__ import annotations

import math
import mmap
import os
import secrets
import struct
import zlib
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from agvent.errors import IndexFileError
from agvent.matching.index.freeze import Arrays, Description
from agvent.matching.subscriptions import Subscriptions
from agvent.store.sync_folder import sync_folder

MAGIC = b"AGVENTIX"
VERSION = 1
PREFIX = struct.Struct("<8sIII")
ALIGNMENT = 64


class ArrayPlace(msgspec.Struct, frozen=True):
    """Where an array lies in the file, and what it is."""

    dtype: Any
    shape: list[int]
    offset: int
    size: int
    crc: int


class Header(msgspec.Struct, frozen=True):
    description: Description
    arrays: dict[str, ArrayPlace]


def save_index(subscriptions: Subscriptions, path: str | os.PathLike[str], *, beside: Arrays | None = None) -> None:
    """Writes the index to a file that `load_index` maps. An interrupted save leaves the old file as it was.

    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> from agvent import Subscriptions, load_index, save_index
    >>> index = Subscriptions()
    >>> index.add("ada", "price < 100")
    >>> file = Path(mkdtemp()) / "alerts.index"
    >>> save_index(index, file)
    >>> load_index(file).match({"price": 99.5})
    ['ada']
    """
    description, arrays = subscriptions.frozen()
    arrays |= beside or {}
    target = Path(path)
    partial: Path | None = None
    try:
        name = target.with_name(f".{target.name}.{secrets.token_hex(8)}.partial")
        with open(name, "xb") as out:  # the umask's permissions: a Spark worker may be another user
            partial = name
            _write(out, description, arrays)
            out.flush()
            os.fsync(out.fileno())
        partial.replace(target)
    except OSError as error:
        if partial is not None:
            partial.unlink(missing_ok=True)
        raise IndexFileError(f"cannot save the index to {target}: {error.strerror}") from error
    sync_folder(target.parent)


def _write(out: Any, description: Description, arrays: Arrays) -> None:
    contiguous = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    sizes = {name: array.nbytes for name, array in contiguous.items()}
    places: dict[str, ArrayPlace] = {}
    offset = 0
    for name, array in contiguous.items():
        offset = _aligned(offset)
        crc = zlib.crc32(_bytes(array))
        places[name] = ArrayPlace(_described(array.dtype), list(array.shape), offset, sizes[name], crc)
        offset += sizes[name]
    header = msgspec.json.encode(Header(description, places))
    out.write(PREFIX.pack(MAGIC, VERSION, len(header), zlib.crc32(header)))
    out.write(header)
    start = _aligned(PREFIX.size + len(header))
    for name, array in contiguous.items():
        out.write(b"\0" * (start + places[name].offset - out.tell()))
        out.write(_bytes(array))


def _bytes(array: Any) -> memoryview:
    return memoryview(array.reshape(-1).view(np.uint8))


def load_index(path: str | os.PathLike[str], *, verify: bool = True) -> Subscriptions:
    """Maps a saved index. It can be matched against and changed; changes stay in memory.

    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> from agvent import Subscriptions, load_index, save_index
    >>> file = Path(mkdtemp()) / "alerts.index"
    >>> save_index(Subscriptions(), file)
    >>> len(load_index(file))
    0
    """
    return load_index_with_arrays(path, verify=verify)[0]


def load_index_with_arrays(path: str | os.PathLike[str], *, verify: bool = True) -> tuple[Subscriptions, Arrays]:
    """Maps a saved index, and all arrays of its file: its own and those that lie beside them."""
    try:
        with open(path, "rb") as source:
            mapped = mmap.mmap(source.fileno(), 0, access=mmap.ACCESS_READ)
    except ValueError:
        raise IndexFileError(f"{path} is empty") from None
    except OSError as error:
        raise IndexFileError(f"cannot read the index {path}: {error.strerror}") from error
    header, start = _header(mapped, path)
    arrays = {name: _array(mapped, start, name, place, path, verify) for name, place in header.arrays.items()}
    try:
        return Subscriptions.unfrozen(header.description, arrays), arrays
    except (KeyError, ValueError, TypeError) as error:
        raise IndexFileError(f"{path} lacks a part of an index: {error}", hint="save it again") from error


def _header(mapped: mmap.mmap, path: Any) -> tuple[Header, int]:
    if len(mapped) < PREFIX.size or mapped[: len(MAGIC)] != MAGIC:
        raise IndexFileError(f"{path} is not a saved index")
    _, version, size, crc = PREFIX.unpack_from(mapped)
    if version != VERSION:
        raise IndexFileError(f"{path} has format {version}, this Agvent reads {VERSION}", hint="save it again")
    text = mapped[PREFIX.size : PREFIX.size + size]
    if len(text) != size or zlib.crc32(text) != crc:
        raise IndexFileError(f"{path} is damaged: its header does not match its checksum")
    try:
        return msgspec.json.decode(text, type=Header), _aligned(PREFIX.size + size)
    except (ValueError, RecursionError) as error:  # not JSON, not UTF-8, not a Header
        raise IndexFileError(f"{path} has a header that cannot be read: {error}", hint="save it again") from None


def _array(mapped: mmap.mmap, start: int, name: str, place: ArrayPlace, path: Any, verify: bool) -> Any:
    first = start + place.offset
    if place.offset < 0 or place.size < 0 or first + place.size > len(mapped):
        raise IndexFileError(f"{path} is cut off: {name} is not all there")
    if verify and zlib.crc32(memoryview(mapped)[first : first + place.size]) != place.crc:
        raise IndexFileError(f"{path} is damaged: {name} does not match its checksum")
    try:
        dtype = _dtype(place.dtype)
        count = math.prod(place.shape)
        if count * dtype.itemsize != place.size:
            raise IndexFileError(f"{path} is damaged: {name} has a wrong size")
        return np.frombuffer(mapped, dtype, count, first).reshape(place.shape)
    except (TypeError, ValueError, SyntaxError) as error:  # NumPy's, of a type or a shape that is none
        raise IndexFileError(f"{path} describes {name} wrongly: {error}", hint="save it again") from None


def _aligned(offset: int) -> int:
    return (offset + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT


def _described(dtype: np.dtype[Any]) -> Any:
    return dtype.str if dtype.names is None else [list(field) for field in dtype.descr]


def _dtype(described: Any) -> np.dtype[Any]:
    return np.dtype(described if isinstance(described, str) else [tuple(field) for field in described])
