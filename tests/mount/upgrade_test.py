"""winnow upgrade: another version takes over a live mount, or does not, and no read fails."""
import random
import subprocess
import threading
import time

import pytest

from mounts import winnow
from processes import kill, run, wait_for_end, wait_until
from settings import LONG, SLOWDOWN, WINNOW
from survival import Readers, children, survival, wait_for_next_worker

UPGRADES = 20 if LONG else 5

pytestmark = pytest.mark.limit(600 if LONG else 60)


def test_upgrades_under_load_fail_no_read(mount, digests):
    mounted = mount("--memory", "8M")
    moments = []
    with Readers(mounted.path, digests) as readers:
        for _ in range(UPGRADES):
            holder, worker = mounted.pid, mounted.worker()
            moments.append(time.monotonic())
            mounted.winnow("upgrade", mounted.path)
            status = mounted.status()
            assert status["holder_pid"] != holder and status["worker_pid"] != worker
            assert wait_for_end(holder, 15) and wait_for_end(worker, 15)
            mounted.pid = status["holder_pid"]
        end = time.monotonic()
    readers.assert_nothing_failed()
    longest = max(readers.stall_after(moment, after) for moment, after in zip(moments, moments[1:] + [end]))
    print(f"\n| upgrades | {UPGRADES} | reads | {readers.reads} | failed | 0 | longest stall | {longest * 1000:.0f} ms |")
    assert longest < 1 * SLOWDOWN
    assert survival(mounted)["deaths"] == 0
    before = mounted.worker()
    kill(before)
    wait_for_next_worker(mounted, before)


def test_deaths_during_upgrades_fail_no_read(mount, digests):
    """Of whichever worker: the old one, the one that stands by, the new one."""
    mounted = mount("--memory", "8M", "--max-restarts", "1000000")
    stop = threading.Event()

    def kill_now_and_then():
        rng = random.Random(7)
        while not stop.wait(rng.random() * 0.6):
            kill(mounted.worker())

    with Readers(mounted.path, digests) as readers:
        killer = threading.Thread(target=kill_now_and_then)
        killer.start()
        codes = [mounted.winnow("upgrade", mounted.path, check=False).returncode for _ in range(UPGRADES)]
        stop.set()
        killer.join()
    readers.assert_nothing_failed()
    assert set(codes) <= {0, 1}
    mounted.pid = mounted.status()["holder_pid"]


def test_an_upgrade_that_cannot_read_the_catalogue_is_refused(mount, digests):
    mounted = mount()
    worker = mounted.worker()
    catalogue = mounted.state / "catalogue"
    catalogue.rename(mounted.state / "away")
    try:
        done = mounted.winnow("upgrade", mounted.path, check=False)
    finally:
        (mounted.state / "away").rename(catalogue)
    assert done.returncode == 1 and b"catalogue" in done.stderr and done.stderr.count(b"\n") == 1
    assert mounted.worker() == worker and mounted.status()["holder_pid"] == mounted.pid


@pytest.mark.parametrize("moment", ["STANDBY", "GO"])
def test_an_upgrade_that_does_not_come_up_is_rolled_back(place, mount, digests, moment):
    mounted = mount("--memory", "8M")
    with Readers(mounted.path, digests) as readers:
        done = winnow("upgrade", mounted.path, check=False, env={**place.environment, f"WINNOW_TEST_FAIL_{moment}": "1"})
        assert done.returncode == 1 and b"the old one goes on" in done.stderr
        wait_until(lambda: mounted.worker() > 0, "the old version serves")
    readers.assert_nothing_failed()
    assert mounted.status()["holder_pid"] == mounted.pid
    holder = mounted.pid
    mounted.winnow("upgrade", mounted.path)
    assert wait_for_end(holder, 15)
    mounted.pid = mounted.status()["holder_pid"]


def test_of_two_upgrades_at_once_none_does_harm(place, mount, digests):
    mounted = mount("--memory", "8M")
    with Readers(mounted.path, digests) as readers:
        both = [subprocess.Popen([WINNOW, "upgrade", mounted.path], env=place.environment, stderr=subprocess.PIPE)
                for _ in range(2)]
        codes = sorted(process.wait(40) for process in both)
        for process in both:
            process.stderr.close()
    assert codes[0] == 0
    readers.assert_nothing_failed()
    mounted.pid = mounted.status()["holder_pid"]


def test_the_holder_of_another_container_can_take_over(place, mount, digests):
    """As when a container is replaced: its successor does not see the processes of the old one."""
    mounted = mount("--memory", "8M")
    old, command = mounted.pid, f"'{WINNOW}' upgrade '{mounted.path}' && echo done && exec sleep 1000"
    with Readers(mounted.path, digests) as readers:
        container = subprocess.Popen(
            ["unshare", "--pid", "--fork", "--kill-child", "--mount", "--propagation", "slave", "--mount-proc", "sh", "-c",
             command], env=place.environment, stdout=subprocess.PIPE)
        try:
            assert b"upgraded" in container.stdout.readline()
            assert container.stdout.readline() == b"done\n"
            assert wait_for_end(old, 15)
            before = mounted.worker()  # by its number in there
            run(["nsenter", "-t", str(children(container.pid)[0]), "-p", "-m", "kill", "-9", str(before)])
            wait_for_next_worker(mounted, before)
        except BaseException:
            container.kill()  # and all in it
            raise
    readers.assert_nothing_failed()
    mounted.winnow("unmount", mounted.path)
    container.kill()
    container.wait()
    container.stdout.close()
