"""Deaths at awkward moments: in a refresh, while the source is away, with reads under way, of a mount half gone."""
import errno
import os
import shutil
import signal
import subprocess
import threading
import time

import pytest

from mounts import Mount, winnow
from processes import is_mounted, kill, wait_for_end, wait_until
from settings import SLOWDOWN
from survival import (Readers, TracedWorkers, is_uninterruptible, kill_worker, log_of, send_control, survival,
                      wait_for_next_worker)

pytestmark = pytest.mark.limit(90)


class Reading(threading.Thread):
    """Reads a file; what came of it is in `content` or `error`."""

    def __init__(self, path):
        super().__init__(daemon=True)
        self.path, self.content, self.error = path, None, None
        self.start()

    def run(self):
        try:
            self.content = self.path.read_bytes()
        except OSError as error:
            self.error = error.errno


def test_a_request_that_hangs_two_workers_gets_an_error_and_the_rest_goes_on(place, source, mount, digests):
    (source / "stuck").write_text("never seen")
    mounted = mount("--memory", "8M", "--watchdog", "1s", environment={**place.environment, "WINNOW_TEST_HANG_ON": "stuck"})
    with Readers(mounted.path, digests, count=2) as readers:
        with pytest.raises(OSError) as error:
            os.stat(mounted / "stuck")
    assert error.value.errno == errno.EIO
    readers.assert_nothing_failed()
    assert (survival(mounted)["hangs"], survival(mounted)["poisoned_answers"]) == (2, 1)


def test_a_start_longer_than_the_watchdog_is_no_hang(place, source, digests):
    """Under strace, a worker takes seconds to start."""
    workers = TracedWorkers(place.root / "program")
    mounted = Mount(place, source, ("--watchdog", "1s"), program=workers.program).start()
    try:
        workers.take_over()
        workers.next_start(mounted, "-o /dev/null -e trace=openat -e inject=openat:delay_enter=50000")
        assert survival(mounted)["hangs"] == 0
    finally:
        mounted.unmount()


def test_a_refresh_cut_short_is_told_to_the_kernel_by_the_next_worker(place, source, mount):
    (source / "changes").write_text("old")
    (source / "goes").write_text("old")
    flag = place.root / "die"
    mounted = mount(environment={**place.environment, "WINNOW_TEST_DIE_UNTOLD": str(flag)})
    assert (mounted / "changes").read_text() == "old" and (mounted / "goes").exists()
    assert not (mounted / "comes").exists()  # which the kernel remembers
    assert "comes" not in os.listdir(mounted.path)
    (source / "changes").write_text("newer")
    (source / "comes").write_text("new")
    (source / "goes").unlink()
    flag.touch()
    before = mounted.worker()
    mounted.winnow("refresh", mounted.path, check=False)
    wait_for_next_worker(mounted, before)
    wait_until(lambda: not (mounted.state / "catalogue.told").exists(), "the next worker tells the kernel")
    assert (mounted / "changes").read_text() == "newer"
    assert (mounted / "comes").read_text() == "new" and "comes" in os.listdir(mounted.path)
    assert not (mounted / "goes").exists()


def test_a_worker_starts_while_its_source_is_away(source, mount, digests):
    mounted = mount("--source-timeout", "off")
    names = sorted(os.listdir(mounted / "d3"))
    before = mounted.worker()
    source.rename(source.with_name("away"))
    try:
        kill(before)
        wait_for_next_worker(mounted, before)
        assert sorted(os.listdir(mounted / "d3")) == names
        reading = Reading(mounted / "d3/f004")
        reading.join(0.5)
        assert reading.is_alive(), "it waits for the source"
    finally:
        source.with_name("away").rename(source)
    reading.join(30 * SLOWDOWN)
    assert reading.content == (source / "d3/f004").read_bytes()
    assert survival(mounted)["deaths"] == 1


@pytest.mark.parametrize("resend", [True, False])
def test_giving_up_lets_nobody_hang(place, source, slow_source, mount, digests, resend):
    hooks = {} if resend else {"WINNOW_TEST_NO_RESEND": "1"}
    mounted = mount("--max-restarts", "0", source=slow_source.path, environment={**place.environment, **hooks})
    os.listdir(mounted / "d1")
    slow_source.stall("read")
    reading = Reading(mounted / "d1/f001")
    try:
        wait_until(lambda: slow_source.waiting() > 0, "a READ is under way")
        kill_worker(mounted.pid)
        reading.join(20 * SLOWDOWN)
        assert reading.error is not None, "it hangs"
        assert not resend or reading.error == errno.EIO
    finally:
        slow_source.go_on()
    with pytest.raises(OSError):
        (mounted / "d2/f001").read_bytes()
    mounted.winnow("status", "--restart", mounted.path)

    def is_back():
        try:
            return (mounted / "d2/f001").read_bytes() == (source / "d2/f001").read_bytes()
        except OSError:
            return False
    wait_until(is_back, "it serves again")


def test_an_upgrade_that_would_fail_open_files_is_refused(place, mount, digests):
    mounted = mount(environment={**place.environment, "WINNOW_TEST_NO_RESEND": "1"})
    worker = mounted.worker()
    done = mounted.winnow("upgrade", mounted.path, check=False)
    assert done.returncode == 1 and b"open files" in done.stderr and done.stderr.count(b"\n") == 1
    assert mounted.worker() == worker


def test_deaths_in_a_row_are_paused_for_and_each_has_one_line(mount, digests):
    mounted = mount()
    for _ in range(6):
        before = mounted.worker()
        kill(before)
        wait_for_next_worker(mounted, before)
    lines = [line for line in log_of(mounted).splitlines() if "[holder]" in line]
    assert len(lines) == 6, lines
    assert "the next starts in" not in lines[3] and "in 25 ms" in lines[4] and "in 50 ms" in lines[5]


def test_a_detached_mount_outlives_its_worker_too(source, mount, digests):
    mounted = mount()
    worker = mounted.worker()
    with open(mounted / "big", "rb", buffering=0) as file:
        mounted.winnow("unmount", "--lazy", mounted.path)
        kill(worker)
        assert file.read(1 << 20) == (source / "big").read_bytes()[:1 << 20]
        assert b"".join(iter(lambda: file.read(1 << 20), b"")) == (source / "big").read_bytes()[1 << 20:]
    assert wait_for_end(mounted.pid, 30), "it ends with its last reader"


def test_a_signal_to_end_is_not_lost_with_the_worker(mount, digests):
    mounted = mount()
    worker = mounted.worker()
    os.kill(worker, signal.SIGSTOP)
    os.kill(mounted.pid, signal.SIGTERM)
    time.sleep(0.2)
    kill(worker)
    assert wait_for_end(mounted.pid, 15)
    assert not is_mounted(mounted.path)


def test_a_mount_whose_dead_worker_cannot_die_is_cleared(place, source, slow_source, mount):
    """Holder and worker are killed while a notification waits for a page: the connection lives on, and nobody answers."""
    (source / "big").write_bytes(bytes(range(256)) * (64 << 10))
    mounted = mount(source=slow_source.path, environment={**place.environment, "WINNOW_TEST_INVALIDATE": "1"})
    worker, holder = mounted.worker(), mounted.pid
    node = (mounted / "big").stat().st_ino
    slow_source.stall("read")
    reader = subprocess.Popen(["cat", mounted / "big"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: slow_source.waiting() > 0, "a READ is under way")
        send_control(mounted, f'{{"command": "invalidate", "node": {node}}}')
        wait_until(lambda: is_uninterruptible(worker), "a notification waits for the page")
        os.kill(holder, signal.SIGSTOP)
        kill(worker)
        kill(holder)
        assert wait_for_end(holder, 15) and not wait_for_end(worker, 0.5), "the worker cannot die"
        winnow("unmount", mounted.path, env=place.environment, timeout=30)
        assert not is_mounted(mounted.path)
    finally:
        slow_source.go_on()
        reader.wait(30 * SLOWDOWN)
    assert wait_for_end(worker, 30)


@pytest.mark.skipif(not shutil.which("strace"), reason="needs strace")
@pytest.mark.parametrize("call", ["openat", "mmap", "read", "writev", "clone3"])
def test_a_first_worker_killed_while_it_starts_is_replaced(place, source, digests, call):
    """With the kernel's INIT under way: `writev` is its answer."""
    workers = TracedWorkers(place.root / "program")
    workers.take_over_at_start()
    workers.plan.write_text(f"-o /dev/null -e trace={call} -e inject={call}:signal=KILL:when=1")
    mounted = Mount(place, source, (), program=workers.program).start()
    try:
        assert survival(mounted)["deaths"] == 1
        assert (mounted / "d1/f001").read_bytes() == (source / "d1/f001").read_bytes()
    finally:
        mounted.unmount()
