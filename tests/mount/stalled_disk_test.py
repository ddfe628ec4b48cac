"""A disk tier whose disk hangs: who waits for it waits, all else goes on, and nobody takes the worker for dead."""
import os
import subprocess
import time

import pytest

from caching_test import drop_pages, settle
from processes import wait_until
from settings import SLOWDOWN
from stalled_source_test import Reads
from survival import survival
from trees import some_bytes

FILES = 40
HANGS_FOR = 6  # seconds


class HangingDisk:
    """Every call by which the worker reads or writes the disk takes some seconds, as strace has it."""

    def __init__(self, pid):
        calls = "io_uring_enter,pread64,pwrite64"
        self.process = subprocess.Popen(
            ["strace", "-f", "-qq", "-o", "/dev/null", "-p", str(pid), "-e", f"trace={calls}", "-e",
             f"inject={calls}:delay_enter={HANGS_FOR * 1_000_000}"])
        wait_until(lambda: self.is_attached(pid), "strace is attached")

    @staticmethod
    def is_attached(pid):
        """To every thread: it takes them one after another."""
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/status") as status:
                if any(line.split() == ["TracerPid:", "0"] for line in status):
                    return False
        return True

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


@pytest.mark.limit(120)
def test_while_the_disk_hangs_all_else_goes_on_and_the_worker_stays(origin, mount_s3):
    contents = {f"train/c{i % 4}/f{i:03}": some_bytes(20_000, seed=i) for i in range(FILES)}
    for key, content in contents.items():
        origin.put(key, content)
    mounted = mount_s3(origin, "--disk", "64M", "--memory", "64M", "--watchdog", "2s")
    mounted.winnow("warm", mounted.path)
    settle(mounted)
    drop_pages(mounted, contents)
    worker = mounted.worker()
    with HangingDisk(worker):
        reads = Reads([mounted / key for key in contents])
        ends = time.monotonic() + HANGS_FOR - 1
        slowest = 0
        while time.monotonic() < ends:
            began = time.monotonic()
            os.listdir(mounted / "train/c1")
            assert mounted.status()["worker_pid"] == worker
            slowest = max(slowest, time.monotonic() - began)
        assert not reads.results, "the disk did not hang"
        results = reads.join()
    assert slowest < 1 * SLOWDOWN, "what needs no disk waited for it"
    assert results == {os.path.basename(key): content for key, content in contents.items()}
    assert survival(mounted)["hangs"] == 0 and mounted.worker() == worker
