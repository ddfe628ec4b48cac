"""The budget: what the kernel's page cache holds of a mount, by our ledger and by the kernel's own count."""
import os

import pytest

from kernel import cached_bytes
from processes import run, wait_until
from settings import is_sanitized
from trees import make_files

MIB = 1 << 20


def really_cached(mounted, folder="data"):
    counts = [cached_bytes(entry.path) for entry in os.scandir(mounted / folder)]
    if None in counts:
        pytest.skip("cachestat is not there before Linux 6.5")
    return sum(counts)


def ledger(mounted):
    return mounted.status()["memory"]


def read_all(mounted, source):
    for entry in os.scandir(source / "data"):
        with open(entry.path, "rb") as theirs, open(mounted / "data" / entry.name, "rb") as ours:
            assert ours.read() == theirs.read(), entry.name


def assert_within(mounted, budget):
    wait_until(lambda: really_cached(mounted) <= 1.1 * budget,
               f"the page cache gets down to the budget of {budget}; it is {really_cached(mounted)}")


@pytest.mark.parametrize("size,count", [(65_536, 1024), (4096, 3000), (3 * MIB, 20), (64 * MIB, 1)],
                         ids=["middle", "small", "large", "one file"])
def test_a_small_budget_is_kept_and_everything_reads_right(source, mount, size, count):
    make_files(source / "data", count, size)
    mounted = mount("--memory", "8M")
    assert ledger(mounted)["budget_bytes"] == 8 * MIB
    for _ in range(2):
        read_all(mounted, source)
        assert_within(mounted, 8 * MIB)
    assert ledger(mounted)["dropped_files"] > 0


def test_the_budget_is_kept_also_while_reading(source, mount):
    make_files(source / "data", 600, 65_536)
    mounted = mount("--memory", "4M")
    highest = 0
    for entry in os.scandir(mounted / "data"):
        with open(entry.path, "rb") as file:
            file.read()
        if entry.name.endswith("0"):
            highest = max(highest, ledger(mounted)["page_cache_bytes"])
    assert highest <= 12 * MIB  # drops run beside the reader, so they may be a little behind
    assert_within(mounted, 4 * MIB)


def test_what_fits_the_budget_is_kept(source, mount):
    make_files(source / "data", 100, 65_536)
    mounted = mount("--memory", "64M")
    read_all(mounted, source)
    assert really_cached(mounted) == 100 * 65_536
    wait_until(lambda: ledger(mounted)["page_cache_bytes"] == 100 * 65_536, "the ledger says the same")
    assert ledger(mounted)["dropped_files"] == 0
    assert ledger(mounted)["page_cache_files"] == 100


def test_dropped_files_keep_their_attributes(source, mount):
    make_files(source / "data", 600, 65_536)
    mounted = mount("--memory", "4M")
    os.listdir(mounted / "data")
    read_all(mounted, source)
    assert_within(mounted, 4 * MIB)
    cost = mounted.requests_of(lambda: [os.stat(entry.path) for entry in os.scandir(mounted / "data")])
    assert cost["getattr"] == 0 and cost["statx"] == 0 and cost["lookup"] == 0, cost


def test_files_in_use_are_not_torn_from_their_readers(source, mount):
    make_files(source / "data", 300, 65_536)
    mounted = mount("--memory", "2M")
    opened = [open(mounted / "data" / f"f{i:05d}", "rb") for i in range(0, 300, 3)]
    for _ in range(2):
        for i, file in enumerate(opened):
            file.seek(0)
            assert file.read() == (source / "data" / f"f{3 * i:05d}").read_bytes()
    for file in opened:
        file.close()


@pytest.mark.parametrize("how", ["a reader's fadvise", "reclaim"])
def test_the_ledger_corrects_itself_when_pages_go_behind_our_back(source, mount, how):
    make_files(source / "data", 150, 65_536)
    mounted = mount("--memory", "12M")
    read_all(mounted, source)
    wait_until(lambda: ledger(mounted)["page_cache_bytes"] >= 9 * MIB, "the ledger fills")
    # Kept open, so that no FORGET tells of it.
    opened = [os.open(entry.path, os.O_RDONLY) for entry in os.scandir(mounted / "data")]
    try:
        for fd in opened:
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        if how == "reclaim":
            run(["sh", "-c", "echo 1 > /proc/sys/vm/drop_caches"])
        wait_until(lambda: ledger(mounted)["page_cache_bytes"] <= really_cached(mounted) + MIB,
                   "an audit finds out", 30)
    finally:
        for fd in opened:
            os.close(fd)


def test_forgotten_files_leave_the_ledger(source, mount):
    make_files(source / "data", 100, 65_536)
    mounted = mount("--memory", "512M")  # far from full, so that no audit looks
    read_all(mounted, source)
    wait_until(lambda: ledger(mounted)["page_cache_bytes"] == 100 * 65_536, "the ledger fills")

    def dropped():
        run(["sh", "-c", "echo 2 > /proc/sys/vm/drop_caches"])  # dentries go, and with them inodes and pages
        return ledger(mounted)["page_cache_bytes"] < 10 * 65_536

    wait_until(dropped, "FORGET tells that the pages are gone")
    read_all(mounted, source)


def test_a_share_of_the_machine_is_a_budget(mount):
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert abs(ledger(mount("--memory", "10%"))["budget_bytes"] - total / 10) < total / 100


def test_a_quarter_of_the_machine_is_the_default(mount):
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert abs(ledger(mount())["budget_bytes"] - total / 4) < total / 50


def test_the_daemon_keeps_no_copy_of_the_bytes(source, mount):
    if is_sanitized():
        pytest.skip("a sanitizer keeps freed memory")
    make_files(source / "data", 100, MIB)
    mounted = mount("--memory", "512M")
    before = mounted.status()["daemon"]["resident_bytes"]
    read_all(mounted, source)
    wait_until(lambda: mounted.status()["daemon"]["resident_bytes"] < before + 40 * MIB,
               "resident memory stays small after reading 100 MiB")
