"""The policy library and its C functions. Everything else in the package goes through `call` and `made`."""
import ctypes
import json
import os
import pathlib
from typing import Any, Dict, List

ABI = 1
_NAME = "libwinnow-policy.so"
_SONAME = "libwinnow-policy.so.1"


class PolicyError(ValueError):
    """Input that a policy refuses: one sentence that names the field and what it accepts."""

    def __init__(self, sentence: str, sample: int = -1) -> None:
        super().__init__(sentence)
        self.sample = sample  # the sample that was refused, or -1


class Values(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("count", ctypes.c_int64), ("type", ctypes.c_int32)]


class Facts(ctypes.Structure):
    _fields_ = [("p_target", Values), ("p_other", Values), ("loss", Values), ("grad", Values), ("load_time", Values),
                ("size", Values), ("correct", ctypes.c_void_p), ("trained", ctypes.c_int32)]


class SelectionResult(ctypes.Structure):
    _fields_ = [("kept", ctypes.POINTER(ctypes.c_int64)), ("kept_count", ctypes.c_int64), ("due_after", ctypes.c_int64)]


class DecisionResult(ctypes.Structure):
    _fields_ = [("criteria", ctypes.c_char_p), ("thresholds", ctypes.POINTER(ctypes.c_double)),
                ("out", ctypes.POINTER(ctypes.c_int64)), ("out_count", ctypes.c_int64),
                ("recalled", ctypes.POINTER(ctypes.c_int64)), ("recalled_count", ctypes.c_int64),
                ("in_process_count", ctypes.c_int64), ("waiting_count", ctypes.c_int64),
                ("stall", ctypes.c_double), ("io_bound", ctypes.c_int32), ("plateau", ctypes.c_int32)]


_text, _handle, _array, _int, _number = (ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64,
                                         ctypes.c_double)
_ids, _count, _bytes = (ctypes.POINTER(ctypes.POINTER(ctypes.c_int64)), ctypes.POINTER(ctypes.c_int64),
                        ctypes.POINTER(ctypes.c_void_p))
_values = ctypes.POINTER(Values)

_MAKES = {
    "winnow_selector_new": [_text, _text],
    "winnow_sampler_new": [_text, _int, _text, _text],
    "winnow_groups_new": [_array, _array, _array, _array, _int, _text],
}
_CALLS = {
    "winnow_selector_select": [_handle, _values, _values, _values, ctypes.POINTER(SelectionResult)],
    "winnow_selector_set_epoch": [_handle, _int],
    "winnow_selector_detail": [_handle, _text, _int, ctypes.POINTER(ctypes.POINTER(ctypes.c_double)), _count],
    "winnow_selector_carry": [_handle, _count],
    "winnow_selector_save": [_handle, _bytes, _count],
    "winnow_selector_load": [_handle, _text, _int],
    "winnow_sampler_report": [_handle, _array, _int, ctypes.POINTER(Facts)],
    "winnow_sampler_check": [_handle, _array, _int, ctypes.POINTER(Facts)],
    "winnow_sampler_end_epoch": [_handle, _number, _number, ctypes.POINTER(DecisionResult)],
    "winnow_sampler_order": [_handle, _int, _int, _int, _text, _handle, _array, _ids, _count],
    "winnow_sampler_bucket": [_handle, _array],
    "winnow_sampler_save": [_handle, _bytes, _count],
    "winnow_sampler_load": [_handle, _text, _int],
    "winnow_groups_representatives": [_handle, _array],
    "winnow_groups_rremove": [_handle, _array, _int, _array, _count],
    "winnow_groups_rrepeat": [_handle, _array, _int, _array, _int, _array],
    "winnow_phash": [_array, _int, ctypes.POINTER(ctypes.c_uint64), ctypes.POINTER(ctypes.c_uint8)],
    "winnow_coreset": [_array, _int, _int, _text, _array, _array, _count],
}
_FREES = ["winnow_selector_free", "winnow_sampler_free", "winnow_groups_free"]


def library_path() -> str:
    """Where the policy library is loaded from: WINNOW_POLICY_LIB, beside this package, or the system's path."""
    named = os.environ.get("WINNOW_POLICY_LIB")
    if named:
        return named
    beside = pathlib.Path(__file__).resolve().parent / _NAME
    return str(beside) if beside.exists() else _SONAME


def _load() -> ctypes.CDLL:
    path = library_path()
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(
            f"the policy library could not be loaded from {path} ({error}); run `pip install ./agents/python` in "
            f"Winnow's repository, or set WINNOW_POLICY_LIB to a built {_NAME}") from error
    library.winnow_policy_abi.restype = ctypes.c_int32
    if library.winnow_policy_abi() != ABI:
        raise ImportError(f"{path} has version {library.winnow_policy_abi()} of the policy interface; this package "
                          f"needs version {ABI}")
    library.winnow_last_error.restype = _text
    library.winnow_last_error_sample.restype = ctypes.c_int64
    library.winnow_policies.restype = _text
    for name, types in _MAKES.items():
        getattr(library, name).argtypes, getattr(library, name).restype = types, _handle
    for name, types in _CALLS.items():
        getattr(library, name).argtypes, getattr(library, name).restype = types, ctypes.c_int
    for name in _FREES:
        getattr(library, name).argtypes, getattr(library, name).restype = [_handle], None
    return library


library = _load()


def refused() -> PolicyError:
    return PolicyError(library.winnow_last_error().decode(), library.winnow_last_error_sample())


def call(status: int) -> None:
    """Raises what a C function reported."""
    if status == 0:
        return
    if status == 1:
        raise refused()
    raise MemoryError(library.winnow_last_error().decode())


def made(handle: Any) -> Any:
    if not handle:
        raise refused()
    return handle


def saved(save: Any, handle: Any) -> bytes:
    data, size = ctypes.c_void_p(), ctypes.c_int64()
    call(save(handle, ctypes.byref(data), ctypes.byref(size)))
    return ctypes.string_at(data, size.value)


def spelled(value: Any) -> str:
    """A parameter as the library reads it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return "+".join(str(one) for one in value)
    return repr(value) if isinstance(value, float) else str(value)


def parameter_text(parameters: Dict[str, Any]) -> bytes:
    return "\n".join(f"{name}={spelled(value)}" for name, value in sorted(parameters.items())
                     if value is not None).encode()


def policies() -> List[Dict[str, Any]]:
    """Every policy with its kind, parameters, defaults and the paper it comes from."""
    return json.loads(library.winnow_policies().decode())
