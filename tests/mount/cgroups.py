"""Memory cgroups of either version, for tests that need a limit."""
import contextlib
import os
from pathlib import Path

import pytest

V1 = Path("/sys/fs/cgroup/memory")
V2 = Path("/sys/fs/cgroup")


class MemoryGroup:
    def __init__(self, name, limit):
        self.version = 1 if (V1 / "memory.limit_in_bytes").exists() else 2
        self.path = (V1 if self.version == 1 else V2) / f"winnow-test-{os.getpid()}-{name}"
        try:
            self.path.mkdir()
            (self.path / ("memory.limit_in_bytes" if self.version == 1 else "memory.max")).write_text(str(limit))
        except OSError as error:
            with contextlib.suppress(OSError):
                self.path.rmdir()
            pytest.skip(f"no memory cgroup (version {self.version}) can be made here: {error}")

    def command(self, words):
        """The words that run a program in this group."""
        return ["sh", "-c", 'echo $$ > "$0" && exec "$@"', str(self.path / "cgroup.procs"), *map(str, words)]

    @property
    def events(self):
        return self.path / ("memory.oom_control" if self.version == 1 else "memory.events")

    def oom_kills(self):
        return dict(line.split() for line in self.events.read_text().splitlines()).get("oom_kill", "0")

    def high_water(self):
        return int((self.path / ("memory.max_usage_in_bytes" if self.version == 1 else "memory.peak")).read_text())

    def remove(self):
        for pid in (self.path / "cgroup.procs").read_text().split():
            (self.path.parent / "cgroup.procs").write_text(pid)
        self.path.rmdir()


@contextlib.contextmanager
def memory_group(name, limit):
    group = MemoryGroup(name, limit)
    try:
        yield group
    finally:
        group.remove()
