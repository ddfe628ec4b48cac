"""Which samples an epoch trains, and in which order."""
import array
import base64
import ctypes
import math
import operator
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sized, Union

from . import _buffers
from ._library import (DecisionResult, Facts, PolicyError, call, library, made, parameter_text, saved)
from .groups import Groups

_STATE_VERSION = 1
_FACTS = ("p_target", "p_other", "loss", "grad", "load_time", "size")


class Decision(NamedTuple):
    """What the end of an epoch decided."""
    thresholds: Dict[str, Optional[float]]  # of the criteria that voted
    out: List[int]                          # who moved to the waiting bucket
    recalled: List[int]                     # who returned
    in_process: int
    waiting: int
    stall: Optional[float]                  # share of waiting for input, once it was judged
    io_bound: bool
    plateau: bool


class Sampler:
    """A drop-in for torch's samplers that follows a policy: iowa, uniform, online, active_bias or dpt.

    `data` is a data set or its length. Call `set_epoch` before each epoch as with torch's DistributedSampler, or never:
    then every new iteration is the next epoch. `report` facts as training goes. `groups` (near duplicates) are used by
    iowa's variants random+rremove, random+rrepeat and auto. `cross_entropy` declares that losses are cross entropy in
    nats without label smoothing. Further keyword arguments are the policy's parameters (`winnow.policies()`).
    """

    def __init__(self, data: Union[int, Sized], policy: str = "iowa", *, seed: int = 0, groups: Optional[Groups] = None,
                 cross_entropy: bool = False, alpha: float = 0.5, **parameters: Any) -> None:
        samples = operator.index(data) if hasattr(data, "__index__") else len(data)
        self.policy, self.samples, self.epoch, self.groups = policy, samples, 0, groups
        self.decision: Optional[Decision] = None
        self._worker, self._workers, self._equalise = 0, 1, "pad"
        self._parameters = parameter_text({"seed": seed, **parameters})
        self._settings = parameter_text({"cross_entropy": cross_entropy, "alpha": float(alpha)})
        self._io_wait = self._compute = 0.0
        self._counts_epochs = True  # until set_epoch is called
        self._started = False
        self._cached: Optional[array.array] = None
        self._order: Optional[List[int]] = None
        self._free = library.winnow_sampler_free
        self._handle = None
        self._handle = made(library.winnow_sampler_new(policy.encode(), samples, self._parameters, self._settings))

    def set_epoch(self, epoch: int) -> None:
        """Begins an epoch. One that follows another ends that one first, with what was reported of it."""
        self._counts_epochs = False
        if self._started and epoch != self.epoch:
            self.end_epoch()
        self.epoch = epoch
        self._order = None

    def __iter__(self) -> Iterator[int]:
        if self._started and self._counts_epochs:
            self.end_epoch()
            self.epoch += 1
        self._started = True
        return iter(self._current_order())

    def __len__(self) -> int:
        return len(self._current_order())

    def report(self, indices: Any, *, loss: Any = None, p_target: Any = None, p_other: Any = None, grad: Any = None,
               correct: Any = None, load_time: Any = None, size: Any = None, trained: bool = True) -> None:
        """Facts of samples, one value per index in each column given. All are taken in, or none: what is refused names
        the sample and the field. `trained=False`: they were only scored."""
        given = {"loss": loss, "p_target": p_target, "p_other": p_other, "grad": grad, "load_time": load_time, "size": size}
        self._take(library.winnow_sampler_report, _buffers.ids(indices),
                   {name: _buffers.numbers(column) for name, column in given.items() if column is not None},
                   None if correct is None else _buffers.marks(correct), trained)

    def _take(self, function: Any, ids: _buffers.Buffer, columns: Dict[str, _buffers.Buffer],
              correct: Optional[_buffers.Buffer], trained: bool) -> None:
        facts = Facts(trained=trained)
        for name, column in columns.items():
            setattr(facts, name, _buffers.as_values(column))
        if correct is not None:
            if correct.count != ids.count:
                raise PolicyError(f"correct must have {ids.count} values, got {correct.count}")
            facts.correct = correct.address
        call(function(self._handle, ids.address, ids.count, ctypes.byref(facts)))

    def profile(self, *, io_wait: float = 0.0, compute: float = 0.0) -> None:
        """Adds seconds of this epoch that the loop waited for samples, and that it computed."""
        for name, seconds in (("io_wait", io_wait), ("compute", compute)):
            if not (math.isfinite(seconds) and seconds >= 0):
                raise PolicyError(f"{name} must be a finite number of at least 0, got {seconds}")
        self._io_wait += io_wait
        self._compute += compute

    def end_epoch(self) -> Decision:
        """Decides what the next epoch trains. `set_epoch`, or the next iteration, calls it."""
        result = DecisionResult()
        call(library.winnow_sampler_end_epoch(self._handle, self._io_wait, self._compute, ctypes.byref(result)))
        self._io_wait = self._compute = 0.0
        self._started, self._order = False, None
        names = [name for name in result.criteria.decode().split("+") if name]
        self.decision = Decision(
            {name: None if math.isnan(value) else value for name, value in zip(names, result.thresholds[:len(names)])},
            result.out[:result.out_count], result.recalled[:result.recalled_count], result.in_process_count,
            result.waiting_count, None if math.isnan(result.stall) else result.stall, bool(result.io_bound),
            bool(result.plateau))
        return self.decision

    def set_cached(self, indices: Any) -> None:
        """Which samples are at hand, for the variant that replaces others by near duplicates."""
        marks = array.array("B", bytes(self.samples))
        for index in _buffers.ids(indices).owner:
            if not 0 <= int(index) < self.samples:
                raise PolicyError(f"cached must be in [0, {self.samples}), got {int(index)}")
            marks[int(index)] = 1
        self._cached, self._order = marks, None

    def waiting(self) -> List[int]:
        """The samples of the waiting bucket."""
        marks = array.array("B", bytes(self.samples))
        call(library.winnow_sampler_bucket(self._handle, marks.buffer_info()[0]))
        return [index for index, mark in enumerate(marks) if mark]

    def _current_order(self) -> List[int]:
        if self._order is None:
            ids, count = ctypes.POINTER(ctypes.c_int64)(), ctypes.c_int64()
            call(library.winnow_sampler_order(
                self._handle, self.epoch, self._worker, self._workers, self._equalise.encode(),
                self.groups and self.groups._handle, self._cached and self._cached.buffer_info()[0], ctypes.byref(ids),
                ctypes.byref(count)))
            self._order = ids[:count.value]
        return self._order

    def state_dict(self) -> Dict[str, Any]:
        """All that is known, as plain values that another machine can load. An epoch cut short starts over there."""
        return {"version": _STATE_VERSION, "policy": self.policy, "samples": self.samples, "epoch": self.epoch,
                "parameters": self._parameters.decode(), "settings": self._settings.decode(), "started": self._started,
                "counts_epochs": self._counts_epochs, "io_wait": self._io_wait, "compute": self._compute,
                "state": base64.b64encode(saved(library.winnow_sampler_save, self._handle)).decode()}

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        if state.get("version") != _STATE_VERSION:
            raise PolicyError(f"version of the state must be {_STATE_VERSION}, got {state.get('version')}")
        data = base64.b64decode(state["state"])
        call(library.winnow_sampler_load(self._handle, data, len(data)))
        self.epoch, self._started = int(state["epoch"]), bool(state["started"])
        self._counts_epochs = bool(state["counts_epochs"])
        self._io_wait, self._compute = float(state["io_wait"]), float(state["compute"])
        self._order = None

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self._free(self._handle)
            self._handle = None
