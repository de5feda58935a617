"""Array types shared by the kernels: how NumPy, Numba and mypy are told the same thing once.

Kernels declare what they only read as read-only. Numba takes a writable array there too, so one compiled signature
serves memory in this process, a memory-mapped file and Arrow's buffers alike.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import from_dtype, njit, types

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
I32 = npt.NDArray[np.int32]
U64 = npt.NDArray[np.uint64]
U8 = npt.NDArray[np.uint8]
Records = npt.NDArray[Any]
"""A structured array; the dtype beside it names the fields."""

BORROWED: dict[str, Any] = {"cache": True, "_nrt": False}
"""How kernels that allocate nothing are compiled: they borrow their arrays for the call, and counting references to
them in every inner function made matching ten times slower, scanning twenty times."""

INLINED: dict[str, Any] = {**BORROWED, "forceinline": True}
"""How small parts of such a kernel are compiled: into their callers, which makes the scanner twice as fast."""


def read(dtype: npt.DTypeLike, ndim: int = 1) -> types.Array:
    """Numba's type of a C-contiguous array that a kernel only reads."""
    return types.Array(from_dtype(np.dtype(dtype)), ndim, "C", readonly=True)


def write(dtype: npt.DTypeLike, ndim: int = 1) -> types.Array:
    """Numba's type of a C-contiguous array that a kernel may write."""
    return types.Array(from_dtype(np.dtype(dtype)), ndim, "C")


def several(*results: types.Type) -> types.Type:
    """Numba's type of several results."""
    return types.Tuple(results)  # type: ignore[no-untyped-call]


def grown(array: npt.NDArray[Any], needed: int) -> npt.NDArray[Any]:
    """The array itself if it has room for `needed` elements, else a copy of at least twice its size. A read-only one is
    always copied."""
    if needed <= len(array) and array.flags.writeable:
        return array
    larger = np.zeros(max(needed, 2 * len(array), 16), array.dtype)
    larger[: len(array)] = array
    return larger


def compiled_twice(function: Callable[..., Any], signature: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """A kernel for batches, during which other threads go on, and the same for few events, which keeps the
    interpreter's lock: to give it up for microseconds can cost milliseconds to get it back."""
    assert isinstance(function, FunctionType)
    at_once = FunctionType(function.__code__, function.__globals__, f"{function.__name__}_at_once")
    at_once.__qualname__ = at_once.__name__  # Numba caches by this name
    return njit(signature, nogil=True, **BORROWED)(function), njit(signature, **BORROWED)(at_once)
