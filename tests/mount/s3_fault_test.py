"""A store that fails in every way there is, with readers running: the right bytes in the end, or EIO in bounded time."""
import errno
import os
import threading
import time

import pytest

from failure_test import assert_one_sentence
from processes import run, wait_until
from s3_origin import Origin
from settings import SLOWDOWN, WINNOW
from trees import some_bytes

READERS = 4
BOUND = READERS + 4  # seconds, with one for the source: the kernel reads ahead, then once for each who wants the page


def fill(origin, count=60, size=(2000, 60_000)):  # so large that no damage repeats by chance
    contents = {}
    for i in range(count):
        contents[f"d{i % 4}/f{i:03d}"] = some_bytes(size[0] + i * (size[1] - size[0]) // count, seed=i)
    for key, content in contents.items():
        origin.put(key, content)
    return contents


class Readers:
    """Threads that read all files, each in its own order, and compare every byte."""

    def __init__(self, mounted, contents):
        self.mounted, self.contents = mounted, contents
        self.wrong, self.errors, self.slowest = [], [], 0.0
        self.threads = [threading.Thread(target=self.run, args=(i,)) for i in range(READERS)]
        for thread in self.threads:
            thread.start()

    def run(self, number):
        keys = sorted(self.contents, key=lambda key: hash((number, key)))
        for key in keys:
            began = time.monotonic()
            try:
                if (self.mounted / key).read_bytes() != self.contents[key]:
                    self.wrong.append(key)
            except OSError as error:
                self.errors.append(error.errno)
            self.slowest = max(self.slowest, time.monotonic() - began)

    def join(self):
        for thread in self.threads:
            thread.join()
        assert not self.wrong, f"wrong bytes in {self.wrong}"
        return self


FAULTS = {
    "status 500": {"fail": {"every": 3, "status": 500}},
    "status 503": {"fail": {"every": 3, "status": 503}},
    "status 429": {"fail": {"every": 3, "status": 429}},
    "connections reset": {"reset": {"every": 3}},
    "short bodies": {"truncate": {"every": 3}},
    "damaged bodies": {"corrupt": {"every": 3, "on": "get"}},
    "latency": {"latency_ms": 30},
}


@pytest.mark.limit(120)
@pytest.mark.parametrize("fault", FAULTS)
def test_readers_get_the_right_bytes_in_the_end(origin, mount_s3, fault):
    contents = fill(origin)
    mounted = mount_s3(origin, "--source-timeout", "60s")
    origin.clear()
    origin.faults(**FAULTS[fault])
    readers = Readers(mounted, contents).join()
    assert not readers.errors
    if fault != "latency":
        assert mounted.status()["fetches"]["retries"] > 0
        assert any(line["fault"] for line in origin.log())


@pytest.mark.limit(120)
def test_a_stall_is_noticed_and_asked_for_again(origin, mount_s3):
    contents = fill(origin, 12)
    mounted = mount_s3(origin, "--source-timeout", "12s")  # stalls are noticed after a quarter of it
    origin.faults(stall={"next": 4, "on": "get"})
    readers = Readers(mounted, contents).join()
    assert not readers.errors
    assert 2.5 < readers.slowest < 11 * SLOWDOWN


@pytest.mark.limit(120)
def test_a_store_that_takes_few_at_once_is_not_overrun(origin, mount_s3):
    contents = fill(origin)
    mounted = mount_s3(origin)
    origin.faults(concurrency=2, latency_ms=5)
    assert not Readers(mounted, contents).join().errors
    assert origin.counts()["status"].get("503", 0) > 0


@pytest.mark.limit(90)
@pytest.mark.parametrize("fault", [
    {"fail": {"every": 1, "status": 500}}, {"reset": {"every": 1}}, {"stall": {"every": 1}}, {"truncate": {"every": 1}},
    {"corrupt": {"every": 1}},
], ids=lambda fault: next(iter(fault)))
def test_a_store_that_stays_broken_gives_eio_in_bounded_time(origin, mount_s3, fault):
    contents = fill(origin, 2)
    mounted = mount_s3(origin, "--source-timeout", "1s")
    origin.faults(**fault)
    readers = Readers(mounted, contents)
    assert len(os.listdir(mounted / "d0")) == 1  # listings and stat go on
    readers.join()
    assert set(readers.errors) == {errno.EIO} and len(readers.errors) == READERS * len(contents)
    assert readers.slowest < BOUND * SLOWDOWN
    origin.clear()
    assert not Readers(mounted, contents).join().errors


@pytest.mark.limit(90)
def test_a_store_that_goes_away_and_comes_back(origin, mount_s3):
    contents = fill(origin, 20)
    mounted = mount_s3(origin)
    origin.process.terminate()
    origin.process.wait()
    readers = Readers(mounted, contents)
    time.sleep(1)
    again = Origin("--port", str(origin.port))
    try:
        for key, content in contents.items():
            again.put(key, content)
        # A bucket that is empty for a moment shows the files as gone; readers are told so, never of wrong bytes.
        readers.join()
        mounted.refresh()
        assert not Readers(mounted, contents).join().errors
    finally:
        again.clean_up()


@pytest.mark.limit(90)
def test_a_version_that_changes_under_the_readers_is_never_mixed(origin, mount_s3):
    size = 9 << 20  # by ranges
    origin.put("file", b"\0" * size)
    mounted = mount_s3(origin, "--memory", "2M")
    stop = threading.Event()
    mixed, whole, stale = [], [], []

    def read():
        while not stop.is_set():
            try:
                with open(mounted / "file", "rb", buffering=0) as file:
                    seen = set()
                    while part := file.read(1 << 20):
                        seen |= set(part[::4096])
            except OSError as error:
                stale.append(error.errno)
                continue
            (mixed if len(seen) > 1 else whole).append(seen)

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    for version in range(1, 12):
        origin.put("file", bytes([version]) * size)
        time.sleep(0.3)
    wait_until(lambda: whole, "a whole read")
    stop.set()
    for thread in threads:
        thread.join()
    assert not mixed and set(stale) <= {errno.ESTALE, errno.ENOENT}


@pytest.mark.limit(90)
def test_a_listing_survives_failures(origin, mount_s3):
    contents = fill(origin, 60)
    origin.faults(fail={"every": 2, "status": 503, "on": "list"}, latency_ms=2)
    mounted = mount_s3(origin)
    seen = {f"{folder}/{name}" for folder in os.listdir(mounted.path) for name in os.listdir(mounted / folder)}
    assert seen == set(contents)
    for wishes in ({"truncate": {"next": 2, "on": "list"}}, {"reset": {"next": 2, "on": "list"}}):
        origin.clear()
        origin.faults(**wishes)
        assert mounted.refresh()["removed"] == 0


def test_a_listing_that_fails_for_good_changes_nothing(origin, mount_s3):
    contents = fill(origin, 8)
    mounted = mount_s3(origin, "--source-timeout", "1s")
    origin.faults(fail={"every": 1, "status": 500, "on": "list"})
    done = mounted.winnow("refresh", mounted.path, check=False)
    assert done.returncode == 1 and b"nothing was changed" in done.stderr
    origin.clear()
    assert not Readers(mounted, contents).join().errors


LARGE_FAULTS = {
    "status 503": {"fail": {"every": 2, "status": 503, "on": "get"}},
    "connections reset": {"reset": {"every": 2, "on": "get"}},
    "short bodies": {"truncate": {"every": 2, "on": "get"}},
    "stalls": {"stall": {"next": 2, "on": "get"}},
}


@pytest.mark.limit(90)
@pytest.mark.parametrize("fault", LARGE_FAULTS)
def test_ranges_of_large_objects_come_whole_in_the_end(origin, mount_s3, fault):
    """Damage is left out: ranges have no checksum, only TCP's and TLS's."""
    contents = {f"large{i}": some_bytes((9 << 20) + i * 12345, seed=i) for i in range(2)}
    for key, content in contents.items():
        origin.put(key, content)
    mounted = mount_s3(origin, "--source-timeout", "8s" if fault == "stalls" else "60s")
    origin.faults(**LARGE_FAULTS[fault])
    assert not Readers(mounted, contents).join().errors
    gets = [line for line in origin.log() if line["method"] == "GET" and "large" in line["target"]]
    assert all(line["range"] for line in gets) and any(line["fault"] for line in gets)


TRICKLE = {"every": 1}


def test_a_body_that_trickles_in_is_given_up(origin, mount_s3):
    contents = fill(origin, 2, size=(50_000, 60_000))
    mounted = mount_s3(origin, "--source-timeout", "1s")
    origin.faults(trickle=TRICKLE)
    readers = Readers(mounted, contents).join()
    assert set(readers.errors) == {errno.EIO} and readers.slowest < BOUND * SLOWDOWN
    assert any(line["fault"] == "trickle" for line in origin.log())
    wait_until(lambda: origin.counts()["being_served"] == 0, "nobody goes on fetching", 4)
    origin.clear()
    assert not Readers(mounted, contents).join().errors


def test_a_listing_that_trickles_in_is_given_up(place, origin, mount_s3):
    contents = fill(origin, 20)
    origin.faults(trickle=TRICKLE)
    began = time.monotonic()
    done = run([WINNOW, "mount", "s3://data", place.mountpoint, "--s3-endpoint", origin.endpoint, "--state-dir",
                place.state, "--source-timeout", "1s"], env=origin.environment(place), check=False)
    assert_one_sentence(done, "check --s3-endpoint and the network")
    origin.clear()
    mounted = mount_s3(origin, "--source-timeout", "1s")
    origin.faults(trickle=TRICKLE)
    done = mounted.winnow("refresh", mounted.path, check=False)
    assert done.returncode == 1 and b"nothing was changed" in done.stderr
    assert time.monotonic() - began < BOUND * SLOWDOWN
    origin.clear()
    assert not Readers(mounted, contents).join().errors


def test_readers_of_a_store_that_is_away_get_eio_only(origin, mount_s3):
    contents = fill(origin, 2)
    mounted = mount_s3(origin, "--source-timeout", "1s")
    origin.process.terminate()
    origin.process.wait()
    readers = Readers(mounted, contents).join()
    assert set(readers.errors) == {errno.EIO} and len(readers.errors) == READERS * len(contents)


def test_an_object_that_was_replaced_while_the_store_stumbles_gives_eio(origin, mount_s3):
    """Its bytes are another version's, and what it is now cannot be asked."""
    origin.put("file", b"old" * 1000)
    mounted = mount_s3(origin, "--source-timeout", "1s")
    origin.put("file", b"new" * 1000)
    origin.faults(fail={"every": 1, "status": 503, "on": "head"})
    with pytest.raises(OSError) as error:
        (mounted / "file").read_bytes()
    assert error.value.errno == errno.EIO
