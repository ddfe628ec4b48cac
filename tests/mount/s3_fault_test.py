"""A store that fails in every way there is, with readers running: the right bytes in the end, or EIO in bounded time."""
import errno
import os
import threading
import time

import pytest

from processes import wait_until
from s3_origin import Origin
from settings import SLOWDOWN
from trees import some_bytes

READERS = 4


def fill(origin, count=60, size=(1, 60_000)):
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
    mounted = mount_s3(origin, "--source-timeout", "2s")
    origin.faults(**fault)
    readers = Readers(mounted, contents)
    assert len(os.listdir(mounted / "d0")) == 1  # listings and stat go on
    readers.join()
    assert set(readers.errors) == {errno.EIO} and len(readers.errors) == READERS * len(contents)
    assert readers.slowest < 10 * SLOWDOWN  # the kernel itself asks up to three times
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
