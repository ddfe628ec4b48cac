"""Opens are seen without a request, from wherever they come."""
import os
import signal

import pytest

from namespaces import run_privately
from processes import run, wait_until
from trees import make_files

FILES = 50


@pytest.fixture
def files(source):
    return [path.name for path in make_files(source / "data", FILES, 2000)]


def opens(mounted):
    return mounted.status()["reads"]["opens"]


def read_each(mounted, names):
    for name in names:
        fd = os.open(mounted / "data" / name, os.O_RDONLY)
        os.read(fd, 4096)
        os.close(fd)


def test_root_gets_fanotify(mount):
    tracking = mount().status()["tracking"]
    if tracking["mode"] != "fanotify":
        pytest.skip(f"fanotify is not permitted here: {tracking['reason']}")
    assert tracking["lost_events"] == 0


@pytest.fixture
def tracked(files, mount):
    mounted = mount()
    if mounted.status()["tracking"]["mode"] != "fanotify":
        pytest.skip("fanotify is not permitted here")
    return mounted


def test_opens_are_counted_hits_and_misses_alike(tracked, files):
    read_each(tracked, files)
    wait_until(lambda: opens(tracked) == FILES, "every open is seen")
    read_each(tracked, files)
    wait_until(lambda: opens(tracked) == 2 * FILES, "hits are seen too")
    reads = tracked.status()["reads"]
    assert (reads["misses"], reads["hits"]) == (FILES, FILES)


def test_opens_through_a_bind_mount_are_seen(place, tracked, files):
    bound = place.root / "bound"
    bound.mkdir()
    run_privately(["mount", "--bind", tracked / "data", bound], f"cat {bound}/* > /dev/null")
    wait_until(lambda: opens(tracked) == FILES, "opens through the bind mount are seen")


def test_opens_in_another_mount_namespace_are_seen(tracked, files):
    run_privately(f"cat {tracked.path}/data/* > /dev/null")
    wait_until(lambda: opens(tracked) == FILES, "opens in another namespace are seen")


def test_opens_in_another_pid_namespace_are_seen(tracked, files):
    run(["unshare", "--mount", "--pid", "--fork", "sh", "-c", f"cat {tracked.path}/data/* > /dev/null"])
    wait_until(lambda: opens(tracked) == FILES, "opens in another pid namespace are seen")


def test_a_mapped_file_counts_as_opened(tracked, files):
    script = "import mmap, os, sys; mmap.mmap(os.open(sys.argv[1], 0), 0, prot=1)[:]"
    run(["/usr/bin/python3", "-c", script, tracked / "data" / files[0]])
    wait_until(lambda: opens(tracked) == 1, "the mapping reader is seen")


def test_listing_and_stat_are_no_opens(tracked, files):
    for name in files:
        os.stat(tracked / "data" / name)
    assert os.path.getsize(tracked / "data" / files[0]) == 2000
    read_each(tracked, files[:1])
    wait_until(lambda: opens(tracked) == 1, "only the open counts")


def test_the_status_file_is_not_counted_itself(tracked, files):
    for _ in range(10):
        tracked.status()
    read_each(tracked, files[:1])
    wait_until(lambda: opens(tracked) >= 1, "the open is seen")
    assert opens(tracked) == 1


def test_lost_events_are_counted(source, mount):
    """The daemon is stopped while more files are opened than the queue holds. Each is another one: opens of
    one file merge."""
    limit = int(open("/proc/sys/fs/fanotify/max_queued_events").read())
    if limit > 20_000:
        pytest.skip(f"the queue holds {limit} events, too many to overflow in a test")
    for i in range(limit + 500):
        os.close(os.open(source / f"{i}", os.O_CREAT | os.O_WRONLY))
    (source / "full").write_text("full")
    mounted = mount("--track", "fanotify")
    paths = [entry.path for entry in os.scandir(mounted.path) if entry.name != "full"]
    (mounted / "full").read_text()
    worker = mounted.worker()
    os.kill(worker, signal.SIGSTOP)
    try:
        for path in paths:
            os.close(os.open(path, os.O_RDONLY))  # of a listed file, so no request
    finally:
        os.kill(worker, signal.SIGCONT)
    wait_until(lambda: mounted.status()["tracking"]["lost_events"] >= 1, "the overflow is counted")
    assert opens(mounted) > 0
    assert (mounted / "full").read_text() == "full"


def test_track_open_answers_opens_and_counts_them(files, mount):
    mounted = mount("--track", "open")
    read_each(mounted, files)
    read_each(mounted, files)
    status = mounted.status()
    assert status["tracking"]["mode"] == "open"
    assert status["reads"]["opens"] == 2 * FILES
    assert status["requests"]["open"] >= 2 * FILES


def test_track_off_sees_nothing_and_costs_nothing(files, mount):
    mounted = mount("--track", "off")
    read_each(mounted, files)
    cost = mounted.cheapest(lambda: read_each(mounted, files))
    assert cost.total() == 0
    status = mounted.status()
    assert status["tracking"]["mode"] == "off"
    assert status["reads"]["opens"] == 0


def test_a_mount_with_events_in_its_queue_unmounts(tracked, files):
    for _ in range(20):
        read_each(tracked, files)
    tracked.unmount()
