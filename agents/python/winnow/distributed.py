"""A sampler for the workers of a data-parallel job, all of which decide alike."""
import base64
import ctypes
import json
from array import array
from typing import Any, Callable, Dict, List, Optional, Sequence, Sized, Union

from . import _buffers
from ._library import PolicyError, library
from .sampler import Decision, Sampler

Exchange = Callable[[bytes], Sequence[bytes]]


def _torch_distributed() -> Any:
    try:
        import torch.distributed as distributed
    except ImportError:
        return None
    return distributed if distributed.is_available() and distributed.is_initialized() else None


def _gather(payload: bytes) -> List[bytes]:
    """Everyone's bytes, by rank. Not all_gather_object: that needs numpy, which torch does not bring along."""
    import torch
    distributed = _torch_distributed()
    device = "cuda" if distributed.get_backend() == "nccl" else "cpu"
    workers = distributed.get_world_size()
    sizes = [torch.zeros(1, dtype=torch.int64, device=device) for _ in range(workers)]
    distributed.all_gather(sizes, torch.tensor([len(payload)], dtype=torch.int64, device=device))
    padded = torch.zeros(max(int(size) for size in sizes), dtype=torch.uint8, device=device)
    padded[:len(payload)] = torch.frombuffer(bytearray(payload), dtype=torch.uint8)
    gathered = [torch.empty_like(padded) for _ in range(workers)]
    distributed.all_gather(gathered, padded)
    on_host = [one.cpu() for one in gathered]
    return [ctypes.string_at(one.data_ptr(), int(size)) for one, size in zip(on_host, sizes)]


class DistributedSampler(Sampler):
    """A drop-in for torch's DistributedSampler: worker `rank` of `num_replicas` gets its part of every epoch.

    The default policy, dpt, deals samples by importance (`layout` stripes, blocks or random); any other sampler's
    order is dealt out in stripes. Parts are padded to one length, or cut with `drop_last`. Reports are kept until the
    epoch ends and then exchanged, so that all workers decide from the same facts: through torch.distributed if it is
    initialised, or through `exchange`, a function that takes this worker's bytes and returns those of all, by rank.
    """

    def __init__(self, data: Union[int, Sized], num_replicas: Optional[int] = None, rank: Optional[int] = None,
                 policy: str = "dpt", *, seed: int = 0, drop_last: bool = False, exchange: Optional[Exchange] = None,
                 **parameters: Any) -> None:
        distributed = _torch_distributed()
        if (num_replicas is None or rank is None) and distributed is None:
            raise PolicyError("num_replicas and rank must be given where torch.distributed is not initialised, got "
                              f"{num_replicas} and {rank}")
        super().__init__(data, policy, seed=seed, **parameters)
        self.num_replicas = distributed.get_world_size() if num_replicas is None else num_replicas
        self.rank = distributed.get_rank() if rank is None else rank
        if not 1 <= self.num_replicas <= self.samples:
            raise PolicyError(f"num_replicas must be an integer in [1, {self.samples}], the number of samples, got "
                              f"{self.num_replicas}")
        if not 0 <= self.rank < self.num_replicas:
            raise PolicyError(f"rank must be in [0, {self.num_replicas}), got {self.rank}")
        self._worker, self._workers = self.rank, self.num_replicas
        self._equalise = "drop" if drop_last else "pad"
        self._exchange = exchange or (_gather if distributed is not None else None)
        self._kept: List[Dict[str, Any]] = []

    def _take(self, function: Any, ids: _buffers.Buffer, columns: Dict[str, _buffers.Buffer],
              correct: Optional[_buffers.Buffer], trained: bool) -> None:
        if self.num_replicas == 1:
            return super()._take(function, ids, columns, correct, trained)
        super()._take(library.winnow_sampler_check, ids, columns, correct, trained)  # refused here, not an epoch later
        self._kept.append({"ids": _packed(ids), "columns": {name: _packed(column) for name, column in columns.items()},
                           "correct": correct and _packed(correct), "trained": trained})

    def end_epoch(self) -> Decision:
        if self.num_replicas > 1:
            self._share()
        return super().end_epoch()

    def _share(self) -> None:
        if self._exchange is None:
            if not self._kept and not self._io_wait and not self._compute:
                return
            raise PolicyError("exchange must be given where torch.distributed is not initialised and facts are reported, "
                              "got None")
        own = {"reports": self._kept, "io_wait": self._io_wait, "compute": self._compute}
        everyone = [json.loads(payload) for payload in self._exchange(json.dumps(own).encode())]
        if len(everyone) != self.num_replicas:
            raise PolicyError(f"exchange must return one payload of each of the {self.num_replicas} workers, got "
                              f"{len(everyone)}")
        self._kept = []
        self._io_wait = sum(one["io_wait"] for one in everyone)
        self._compute = sum(one["compute"] for one in everyone)
        for one in everyone:
            for report in one["reports"]:
                super()._take(library.winnow_sampler_report, _unpacked(report["ids"]),
                              {name: _unpacked(column) for name, column in report["columns"].items()},
                              report["correct"] and _unpacked(report["correct"]), report["trained"])

    def state_dict(self) -> Dict[str, Any]:
        return {**super().state_dict(), "kept_reports": list(self._kept)}

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        super().load_state_dict(state)
        self._kept = list(state.get("kept_reports", []))


def _packed(column: _buffers.Buffer) -> List[str]:
    width = {"f": 4, "d": 8, "q": 8, "B": 1}[column.kind]
    return [column.kind, base64.b64encode(ctypes.string_at(column.address, column.count * width)).decode()]


def _unpacked(packed: Sequence[str]) -> _buffers.Buffer:
    return _buffers.buffer(array(packed[0], base64.b64decode(packed[1])), packed[0])
