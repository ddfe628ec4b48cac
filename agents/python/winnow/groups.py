"""Near duplicates, and the coreset of Select via Proxy."""
import array
import ctypes
from typing import Any, List, Optional, Tuple

from . import _buffers
from ._library import PolicyError, call, library, made, parameter_text


def perceptual_hash(luma: Any) -> Tuple[int, bool]:
    """The 64-bit hash of a 32×32 luma image (1,024 bytes, row by row), and whether the image is flat."""
    pixels = _buffers.marks(luma)
    bits, flat = ctypes.c_uint64(), ctypes.c_uint8()
    call(library.winnow_phash(pixels.address, pixels.count, ctypes.byref(bits), ctypes.byref(flat)))
    return bits.value, bool(flat.value)


class Groups:
    """Similarity groups over all samples: stars of one label within `max_distance` bits of a representative."""

    def __init__(self, hashes: Any, labels: Any, *, flat: Any = None, digest: Any = None, max_distance: int = 2,
                 max_group: int = 8) -> None:
        bits, label = _buffers.buffer(hashes, "Q"), _buffers.ids(labels)
        flats = None if flat is None else _buffers.marks(flat)
        digests = None if digest is None else _buffers.buffer(digest, "Q")
        for name, column in (("labels", label), ("flat", flats), ("digest", digests)):
            if column is not None and column.count != bits.count:
                raise PolicyError(f"{name} must have {bits.count} values, got {column.count}")
        self._free = library.winnow_groups_free
        self._handle = None
        self._handle = made(library.winnow_groups_new(
            bits.address, label.address, flats and flats.address, digests and digests.address, bits.count,
            parameter_text({"max_distance": max_distance, "max_group": max_group})))
        self.samples = bits.count

    def representatives(self) -> List[int]:
        out = array.array("q", bytes(8 * self.samples))
        call(library.winnow_groups_representatives(self._handle, out.buffer_info()[0]))
        return out.tolist()

    def rremove(self, order: Any) -> List[int]:
        """The epoch's order without those whose group was trained before them."""
        given = _buffers.ids(order)
        out, count = array.array("q", bytes(8 * given.count)), ctypes.c_int64()
        call(library.winnow_groups_rremove(self._handle, given.address, given.count, out.buffer_info()[0],
                                           ctypes.byref(count)))
        return out[:count.value].tolist()

    def rrepeat(self, requests: Any, cached: Any, max_repeats: int = 4) -> List[int]:
        """Who is delivered for each request of an epoch; `cached` has a byte or bool per sample."""
        given, marks = _buffers.ids(requests), _buffers.marks(cached)
        if marks.count != self.samples:
            raise PolicyError(f"cached must have {self.samples} values, got {marks.count}")
        out = array.array("q", bytes(8 * given.count))
        call(library.winnow_groups_rrepeat(self._handle, given.address, given.count, marks.address, max_repeats,
                                           out.buffer_info()[0]))
        return out.tolist()

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self._free(self._handle)
            self._handle = None


def coreset(probabilities: Any, fraction: float = 0.5, uncertainty: str = "entropy",
            classes: Optional[int] = None) -> List[int]:
    """The most uncertain samples of a proxy model, given its probability vectors (a matrix, or flat with `classes`)."""
    if classes is None:
        shape = getattr(probabilities, "shape", None)
        classes = int(shape[-1]) if shape is not None else len(probabilities[0])
        if shape is None:
            probabilities = [p for row in probabilities for p in row]
    rows = _buffers.buffer(probabilities, "d")
    if classes < 2 or rows.count % classes:
        raise PolicyError(f"probabilities must be whole vectors of {classes} classes, at least 2, got {rows.count} values")
    n = rows.count // classes
    ranks, chosen, count = array.array("d", bytes(8 * n)), array.array("q", bytes(8 * n)), ctypes.c_int64()
    call(library.winnow_coreset(rows.address, n, classes,
                                parameter_text({"fraction": float(fraction), "uncertainty": uncertainty}),
                                ranks.buffer_info()[0], chosen.buffer_info()[0], ctypes.byref(count)))
    return chosen[:count.value].tolist()
