"""A mount outlives its daemon: whatever becomes of worker and holder, readers wait and do not fail."""
import os
import random
import shutil
import signal
import socket
import subprocess
import threading
import time

import pytest

from mounts import Mount
from processes import is_mounted, kill, run, wait_for_end, wait_until
from settings import LONG, PROJECT, SLOWDOWN, is_sanitized
from survival import (Readers, TracedWorkers, is_uninterruptible, kill_worker, log_of, median_stall, send_control,
                      survival, wait_for_next_worker, worker_of)
from trees import make_files

KILLS = 100 if LONG else 20
# AddressSanitizer reports a SEGV whoever sent it.
SIGNALS = [signal.SIGABRT, signal.SIGKILL] + ([] if is_sanitized() else [signal.SIGSEGV])
PATIENT = ("--max-restarts", "1000000")

pytestmark = pytest.mark.limit(600 if LONG else 60)


def keep_refreshing(mounted, source, stop):
    """New and changed files, so that each refresh writes a catalogue; it fails when the worker dies under it."""
    count = 0
    while not stop.is_set():
        make_files(source / "new" / str(count), 3, 10)
        (source / "new/0/changes").write_text(f"version {count}")
        mounted.winnow("refresh", mounted.path, check=False)
        count += 1


def test_kills_at_random_moments_fail_no_read(source, mount, digests):
    mounted = mount("--memory", "8M", *PATIENT)
    rng = random.Random(5)
    stop = threading.Event()
    moments = []
    refresher = threading.Thread(target=keep_refreshing, args=(mounted, source, stop))
    with Readers(mounted.path, digests) as readers:
        refresher.start()
        try:
            deaths = 0
            while deaths < KILLS:
                if len(moments) % 3 == 0:  # while the next worker starts
                    time.sleep(rng.random() * 0.03)
                else:  # while it serves
                    deaths = survival(mounted)["deaths"]
                    mounted.winnow("status", "--restart", mounted.path)  # pauses after many deaths are not meant here
                    time.sleep(rng.random() * 0.3)
                moments.append(time.monotonic())
                kill_worker(mounted.pid, rng.choice(SIGNALS))
        finally:
            stop.set()
            refresher.join()
    readers.assert_nothing_failed()
    stall = median_stall(readers, moments)
    deaths = survival(mounted)["deaths"]
    print(f"\n| deaths by kills | {deaths} | reads | {readers.reads} | failed | 0 | median added stall | {stall * 1000:.0f} ms |")
    assert survival(mounted)["poisoned_answers"] == 0
    mounted.refresh()
    assert (mounted / "new/0/changes").read_bytes() == (source / "new/0/changes").read_bytes()
    assert sorted(os.listdir(mounted.path)) == sorted(os.listdir(source))
    assert sorted(os.listdir(mounted / "new")) == sorted(os.listdir(source / "new"))


def test_a_single_death_costs_readers_little(mount, digests):
    """Four, with time to serve between: the fifth within a minute would be paused for."""
    mounted = mount("--memory", "8M")
    moments = []
    with Readers(mounted.path, digests) as readers:
        for _ in range(4):
            before = mounted.worker()
            time.sleep(0.3)
            moments.append(time.monotonic())
            kill(before)
            wait_for_next_worker(mounted, before)
    readers.assert_nothing_failed()
    stall = median_stall(readers, moments)
    print(f"\n| single kills | 4 | reads | {readers.reads} | failed | 0 | median added stall | {stall * 1000:.0f} ms |")
    assert stall < 1 * SLOWDOWN


def test_a_worker_that_hangs_is_replaced(mount, digests):
    mounted = mount("--watchdog", "2s", "--memory", "8M")
    before = mounted.worker()
    with Readers(mounted.path, digests) as readers:
        os.kill(before, signal.SIGSTOP)
        wait_for_next_worker(mounted, before)
    readers.assert_nothing_failed()
    assert wait_for_end(before, 15), "the stopped worker is ended"
    assert survival(mounted)["hangs"] == 1


@pytest.mark.parametrize("options", [(), ("--disk", "16M")], ids=["alone", "disk"])
def test_a_worker_killed_while_a_notification_waits_for_a_page(place, source, slow_source, mount, options):
    """Its thread cannot die; the next worker has to free it, and to take over the disk tier that it still holds."""
    (source / "big").write_bytes(bytes(range(256)) * (64 << 10))  # read by ranges
    mounted = mount(*options, source=slow_source.path, environment={**place.environment, "WINNOW_TEST_INVALIDATE": "1"})
    worker = mounted.worker()
    node = (mounted / "big").stat().st_ino
    slow_source.stall("read")
    reader = subprocess.Popen(["cmp", mounted / "big", source / "big"])
    try:
        wait_until(lambda: slow_source.waiting() > 0, "a READ is under way")
        send_control(mounted, f'{{"command": "invalidate", "node": {node}}}')
        wait_until(lambda: is_uninterruptible(worker), "a notification waits for the page")
        kill(worker)
        began = time.monotonic()
        wait_for_next_worker(mounted, worker)
        assert time.monotonic() - began < 5 * SLOWDOWN, "the watchdog was not needed"
        assert (mounted.status()["disk"] is not None) == bool(options)
    finally:
        slow_source.go_on()
        assert reader.wait(30 * SLOWDOWN) == 0
    assert wait_for_end(worker, 15)


def test_a_disk_tier_that_a_successor_cannot_open_fails_no_read(source, mount, digests):
    mounted = mount("--disk", "16M")
    with Readers(mounted.path, digests) as readers:
        shutil.rmtree(mounted.state / "disk")
        (mounted.state / "disk").write_text("no folder any more")
        before = mounted.worker()
        kill(before)
        wait_for_next_worker(mounted, before)
    readers.assert_nothing_failed()
    assert mounted.status()["disk"] is None
    assert "reads go on without it" in log_of(mounted)


def test_a_killed_holder_is_replaced_and_the_next_worker_too(mount, digests):
    mounted = mount("--memory", "8M")
    with Readers(mounted.path, digests) as readers:
        first, worker = mounted.pid, mounted.worker()
        kill(first)
        wait_until(lambda: mounted.status()["holder_pid"] not in (0, first), "the worker starts another holder")
        mounted.pid = mounted.status()["holder_pid"]
        assert mounted.worker() == worker
        kill(worker)
        wait_for_next_worker(mounted, worker)
    readers.assert_nothing_failed()
    assert survival(mounted)["deaths"] == 1


def test_a_request_that_crashes_two_workers_gets_an_error_and_the_rest_goes_on(place, source, mount, digests):
    (source / "poison").write_text("never seen")
    mounted = mount("--memory", "8M", environment={**place.environment, "WINNOW_TEST_CRASH_ON": "poison"})
    with Readers(mounted.path, digests) as readers:
        with pytest.raises(OSError) as error:
            os.stat(mounted / "poison")
    assert error.value.errno == 5
    readers.assert_nothing_failed()
    assert survival(mounted)["crashes"] == 2
    assert survival(mounted)["poisoned_answers"] == 1


def test_a_crash_under_a_new_holder_is_laid_at_its_request_too(place, source, mount, digests):
    """The new holder is no parent of the worker, and cannot ask how it ended."""
    (source / "poison").write_text("never seen")
    mounted = mount(environment={**place.environment, "WINNOW_TEST_CRASH_ON": "poison"})
    first = mounted.pid
    kill(first)
    wait_until(lambda: mounted.status()["holder_pid"] not in (0, first), "the worker starts another holder")
    mounted.pid = mounted.status()["holder_pid"]
    with pytest.raises(OSError) as error:
        os.stat(mounted / "poison")
    assert error.value.errno == 5
    assert survival(mounted)["crashes"] == 2


def test_after_too_many_deaths_reads_fail_quickly_until_a_restart(source, mount, digests):
    mounted = mount("--max-restarts", "3")
    path = mounted / "d0/f001"
    for _ in range(4):
        before = kill_worker(mounted.pid)
        wait_until(lambda: worker_of(mounted.pid) != before, "the holder acts")
    wait_until(lambda: "gave up" in log_of(mounted), "the holder gives up")
    began = time.monotonic()
    with pytest.raises(OSError) as error:
        path.read_bytes()
    assert error.value.errno == 5 and time.monotonic() - began < 2 * SLOWDOWN
    done = mounted.winnow("status", mounted.path, check=False)
    assert done.returncode == 1 and b"--restart" in done.stderr
    mounted.winnow("status", "--restart", mounted.path)
    assert path.read_bytes() == (source / "d0/f001").read_bytes()


def test_a_mount_that_gave_up_can_be_unmounted(mount, digests):
    mounted = mount("--max-restarts", "0")
    kill_worker(mounted.pid)
    wait_until(lambda: "gave up" in log_of(mounted), "the holder gives up")
    mounted.unmount()


def test_an_abort_from_outside_is_told_from_an_unmount(source, mount, digests):
    mounted = mount()
    minor = os.minor(os.stat(mounted.path).st_dev)
    control = f"/sys/fs/fuse/connections/{minor}/abort"
    made = not os.path.exists(control) and run(["mount", "-t", "fusectl", "none", "/sys/fs/fuse/connections"],
                                               check=False).returncode == 0
    try:
        if not os.path.exists(control):
            pytest.skip("fusectl cannot be mounted here")
        with open(control, "w") as file:
            file.write("1")
    finally:
        if made:
            run(["umount", "/sys/fs/fuse/connections"])
    def answers():
        try:
            return survival(mounted)["remounts"] == 1
        except OSError:
            return False
    wait_until(answers, "the mount is there again")
    assert (mounted / "d1/f002").read_bytes() == (source / "d1/f002").read_bytes()
    before = mounted.worker()
    kill(before)
    wait_for_next_worker(mounted, before)
    assert (mounted / "d1/f003").read_bytes() == (source / "d1/f003").read_bytes()


def test_unmount_ends_holder_and_worker(mount, digests):
    mounted = mount()
    worker = mounted.worker()
    mounted.unmount()
    assert wait_for_end(worker, 0)


def test_where_requests_cannot_be_handed_on_it_remounts_and_says_so(place, source, mount, digests):
    mounted = mount(environment={**place.environment, "WINNOW_TEST_NO_RESEND": "1"})
    assert "cannot hand requests on" in mounted.message
    assert survival(mounted)["resend"] is False
    assert b"cannot hand requests on" in mounted.winnow("status", mounted.path).stdout
    began = time.monotonic()
    before = kill_worker(mounted.pid)

    def is_back():
        try:
            return mounted.worker() != before
        except OSError:
            return False
    wait_until(is_back, "it is mounted again")
    print(f"\n| remounted after {(time.monotonic() - began) * 1000:.0f} ms |")
    assert survival(mounted)["remounts"] == 1
    assert (mounted / "d2/f003").read_bytes() == (source / "d2/f003").read_bytes()


def test_the_holder_is_small_and_spared_when_memory_runs_out(mount, digests):
    mounted = mount()
    with open(f"/proc/{mounted.pid}/status") as file:
        resident = next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))
    assert resident < 2048, f"{resident} KiB"
    scores = [int(open(f"/proc/{pid}/oom_score_adj").read()) for pid in (mounted.pid, mounted.worker())]
    assert scores[0] < scores[1]
    assert len(os.listdir(f"/proc/{mounted.pid}/task")) == 1


@pytest.mark.limit(1800 if LONG else 60)
@pytest.mark.skipif(not shutil.which("strace"), reason="needs strace")
def test_a_kill_in_any_call_of_the_start_up_is_survived(place, source, digests):
    workers = TracedWorkers(place.root / "program")
    mounted = Mount(place, source, ("--memory", "8M", *PATIENT), program=workers.program).start()
    try:
        workers.take_over()
        calls = workers.calls_of_a_start(mounted, place.root / "trace")
        assert calls["openat"] > 5 and calls["mmap"] > 5, calls
        plan = sorted(calls.items()) if LONG else [(call, 1) for call in ("execve", "openat", "clone3", "bind", "writev")]
        points = 0
        with Readers(mounted.path, digests, count=2) as readers:
            for call, most in plan:
                for number in range(1, most + 1):
                    killed = workers.next_start(
                        mounted, f"-o /dev/null -e trace={call} -e inject={call}:signal=KILL:when={number}")
                    points += killed
                    if not killed:
                        break
        readers.assert_nothing_failed()
        print(f"\n| kills in calls of the start-up | {points} of {len(plan)} kinds | reads | {readers.reads} | failed | 0 |")
        assert points >= (50 if LONG else 4)
    finally:
        mounted.unmount()


def test_a_service_manager_is_told_that_the_mount_answers(place, mount, digests):
    path = place.root / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(path))
        listener.settimeout(10)
        mounted = mount(environment={**place.environment, "NOTIFY_SOCKET": str(path)})
        said = listener.recv(4096).decode()
        assert f"READY=1\nMAINPID={mounted.pid}" in said
        first = mounted.pid
        kill(first)
        assert "MAINPID=" in listener.recv(4096).decode(), "a new holder is the service's new main process"
        mounted.pid = mounted.status()["holder_pid"]
        assert mounted.pid != first


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="needs systemd-analyze")
def test_the_systemd_unit_is_sound():
    unit = PROJECT / "deploy/systemd/winnow@.service"
    done = run(["systemd-analyze", "verify", unit], check=False)
    problems = [line for line in done.stderr.decode().splitlines() if "winnow@" in line and "not executable" not in line]
    assert problems == []


def test_nothing_is_left_of_a_mount_that_ended(mount, digests):
    mounted = mount()
    kill_worker(mounted.pid)
    mounted.unmount()
    assert not is_mounted(mounted.path)
    assert not (mounted.state / "holder").exists() and not (mounted.state / "control").exists()
