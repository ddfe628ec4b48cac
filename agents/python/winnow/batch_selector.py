"""Choosing which samples of a mini-batch take part in the backward pass."""
import base64
import ctypes
from typing import Any, Dict, List, NamedTuple, Optional, Sequence

from . import _buffers
from ._library import (PolicyError, SelectionResult, call, library, made, parameter_text, saved)

_STATE_VERSION = 1


class Selection(NamedTuple):
    indices: List[int]         # positions in the batch to keep, ascending
    step_after: Optional[int]  # an optimiser step is due after this many of them; None: not yet


class BatchSelector:
    """AdaSelection (or, with `policy="biggest_loser"`, Biggest Loser) over the batches of a training loop.

        selector = winnow.BatchSelector(methods=["big_loss", "uniform"], rate=0.3)
        kept, step_after = selector(losses)

    Kept samples add up to full batches: back-propagate the first `step_after` of them, step, then the rest. Further
    keyword arguments are the policy's parameters (`winnow.policies()` lists them).
    """

    def __init__(self, methods: Optional[Sequence[str]] = None, rate: Optional[float] = None, *, batch_size: Optional[int] = None,
                 seed: int = 0, policy: str = "adaselection", **parameters: Any) -> None:
        given = {"methods": methods, "rate": rate, "batch": batch_size, "seed": seed, **parameters}
        self.policy = policy
        self._parameters = parameter_text(given)
        self._free = library.winnow_selector_free
        self._handle = None
        self._handle = made(library.winnow_selector_new(policy.encode(), self._parameters))
        self._result = SelectionResult()
        self._result_pointer = ctypes.byref(self._result)

    def __call__(self, loss: Any, grad: Any = None) -> Selection:
        """The selection of a batch, given its per-sample losses (and gradient norms, where a method needs them)."""
        losses = _buffers.numbers(loss)
        grads = None if grad is None else _buffers.numbers(grad)
        call(library.winnow_selector_select(
            self._handle, _buffers.as_values(losses), None if grads is None else _buffers.as_values(grads), None,
            self._result_pointer))
        result = self._result
        return Selection(result.kept[:result.kept_count], result.due_after or None)

    select = __call__

    def set_epoch(self, epoch: int) -> None:
        """Seeds the random draws of an epoch; what was learnt goes on."""
        call(library.winnow_selector_set_epoch(self._handle, epoch))

    def detail(self, name: str, row: int = 0) -> List[float]:
        """What went into the last selection: weights, method_loss, score, reward, alpha (row = method); of Biggest
        Loser: probability."""
        values, count = ctypes.POINTER(ctypes.c_double)(), ctypes.c_int64()
        call(library.winnow_selector_detail(self._handle, name.encode(), row, ctypes.byref(values), ctypes.byref(count)))
        return values[:count.value]

    @property
    def carry(self) -> int:
        """Kept samples that wait for a full batch."""
        count = ctypes.c_int64()
        call(library.winnow_selector_carry(self._handle, ctypes.byref(count)))
        return count.value

    def state_dict(self) -> Dict[str, Any]:
        return {"version": _STATE_VERSION, "policy": self.policy, "parameters": self._parameters.decode(),
                "state": base64.b64encode(saved(library.winnow_selector_save, self._handle)).decode()}

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        if state.get("version") != _STATE_VERSION:
            raise PolicyError(f"version of the state must be {_STATE_VERSION}, got {state.get('version')}")
        data = base64.b64decode(state["state"])
        call(library.winnow_selector_load(self._handle, data, len(data)))

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self._free(self._handle)
            self._handle = None
