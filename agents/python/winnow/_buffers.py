"""Addresses of other people's numbers. Arrays of torch, numpy and `array` are read where they lie; lists, bytes, other
precisions, strided views and tensors on a device are converted first."""
import array
import ctypes
from typing import Any, NamedTuple

from ._library import Values

FLOAT32, FLOAT64 = 1, 2
_FLOATS = {"f": FLOAT32, "d": FLOAT64}


class Buffer(NamedTuple):
    address: int
    count: int
    kind: str     # 'f', 'd', 'q', 'Q' or 'B'
    owner: Any    # keeps the memory alive


def _of_tensor(tensor: Any, kinds: str) -> Buffer:
    tensor = tensor.detach().reshape(-1)
    kind = {"torch.float32": "f", "torch.float64": "d", "torch.int64": "q", "torch.uint8": "B", "torch.bool": "B"}.get(
        str(tensor.dtype), "")
    if kind not in kinds or not kind:
        import torch
        wanted = {"d": torch.float64, "q": torch.int64, "B": torch.uint8}[kinds[-1]]
        tensor, kind = tensor.to(wanted), kinds[-1]
    tensor = tensor.cpu().contiguous()
    return Buffer(tensor.data_ptr(), tensor.numel(), kind, tensor)


def _of_numpy(values: Any, kinds: str) -> Buffer:
    kind = {"f4": "f", "f8": "d", "i8": "q", "u8": "Q", "u1": "B", "b1": "B"}.get(values.dtype.str[1:], "")
    if kind not in kinds or not kind or not values.flags.c_contiguous or values.dtype.byteorder == ">":
        kind = kinds[-1]
        values = values.astype({"d": "f8", "q": "i8", "Q": "u8", "B": "u1"}[kind], order="C")
    return Buffer(values.ctypes.data, values.size, kind, values)


def buffer(values: Any, kinds: str) -> Buffer:
    """The memory of `values`, of one of the kinds; converted to the last of them if it has another."""
    if hasattr(values, "data_ptr"):
        return _of_tensor(values, kinds)
    if hasattr(values, "__array_interface__") and hasattr(values, "dtype"):
        return _of_numpy(values, kinds)
    if not isinstance(values, array.array):
        values = _array_of(values, kinds)
    if values.typecode not in kinds:
        values = array.array(kinds[-1], values)
    address, count = values.buffer_info()
    return Buffer(address, count, values.typecode, values)


def _array_of(values: Any, kinds: str) -> array.array:
    if isinstance(values, (bytes, bytearray, memoryview)):
        view = memoryview(values)
        kind = view.format if view.format in kinds else kinds[-1]
        return array.array(kind, view.tobytes() if view.format in kinds else view.tolist())
    return array.array(kinds[-1], values)


def numbers(values: Any) -> Buffer:
    return buffer(values, "fd")


def ids(values: Any) -> Buffer:
    if isinstance(values, int):
        values = [values]
    return buffer(values, "q")


def marks(values: Any) -> Buffer:
    return buffer(values, "B")


def as_values(given: Buffer) -> Values:
    return Values(given.address or _SOMEWHERE, given.count, _FLOATS[given.kind])


# An empty array has no address, and no address means "not given".
_ANYTHING = ctypes.c_double()
_SOMEWHERE = ctypes.addressof(_ANYTHING)
