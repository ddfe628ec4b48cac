"""What reads and listings cost in requests: nothing, once the kernel knows."""
import os
from collections import Counter

import pytest

from processes import run
from trees import make_files

FILES = 400


def read_with_os(paths):
    for path in paths:
        fd = os.open(path, os.O_RDONLY)
        while os.read(fd, 1 << 20):
            pass
        os.close(fd)


def read_with_open(paths):
    for path in paths:
        with open(path, "rb") as file:
            file.read()


def listed(mounted):
    return [entry.path for entry in os.scandir(mounted / "small")]


@pytest.fixture
def small(source, mount):
    """A mount with small files, its folder listed."""
    make_files(source / "small", FILES, (1500, 3500))
    mounted = mount()
    assert len(listed(mounted)) == FILES
    return mounted


def test_the_first_epoch_after_a_listing_costs_one_read_a_file(small):
    cost = small.requests_of(lambda: read_with_os(listed(small)))
    assert cost["read"] >= FILES
    assert cost.total() <= 1.1 * FILES, cost


def test_later_epochs_cost_nothing(small):
    paths = listed(small)
    read_with_os(paths)
    assert small.cheapest(lambda: read_with_os(paths)).total() == 0


def test_pythons_open_costs_one_ioctl_a_file_and_nothing_else(small):
    paths = listed(small)
    read_with_open(paths)
    cost = small.cheapest(lambda: read_with_open(paths))
    assert dict(cost) == {"ioctl": FILES} or not cost, "Python 3.14 asks no more whether a file is a terminal"


def test_cat_and_mmap_and_wc_of_cached_files_cost_nothing(small):
    paths = listed(small)
    read_with_os(paths)
    reader = ("import mmap, os, sys\n"
              "for p in sys.argv[1:]:\n  f = os.open(p, 0); mmap.mmap(f, 0, prot=1)[:]; os.close(f)")
    for words in (["cat", *paths], ["/usr/bin/python3", "-c", reader, *paths], ["wc", "-c", *paths]):
        cost = small.cheapest(lambda: run(words))
        assert cost.total() == 0, (words[0], cost)


def test_a_second_listing_costs_nothing(small):
    run(["find", small.path, "-printf", "%s\n"])
    cost = small.cheapest(lambda: run(["find", small.path, "-printf", "%s\n"]))
    assert not cost - Counter(statfs=1), cost  # find asks what filesystem it is on


def test_a_listing_spares_the_lookups(small):
    cost = small.requests_of(lambda: [os.stat(path) for path in listed(small)])
    assert cost["lookup"] == 0 and cost["getattr"] == 0, cost


@pytest.mark.parametrize("size", [60_000, 160_000, 1_000_000])
def test_larger_files_cost_few_requests_once_and_then_none(source, mount, size):
    paths = make_files(source / "large", 30, size)
    mounted = mount()
    paths = [mounted / "large" / path.name for path in paths]
    os.listdir(mounted / "large")
    first = mounted.requests_of(lambda: read_with_os(paths))
    assert first.total() <= 30 * (1.2 + size // 500_000), first
    assert mounted.cheapest(lambda: read_with_os(paths)).total() == 0


def test_a_file_of_many_megabytes_is_cached_whole(source, mount):
    (source / "big").write_bytes(os.urandom(40 << 20))
    mounted = mount()
    read_with_os([mounted / "big"])
    assert mounted.cheapest(lambda: read_with_os([mounted / "big"])).total() == 0


def test_reading_one_byte_brings_in_the_whole_small_file(source, mount):
    (source / "file").write_bytes(os.urandom(1 << 20))
    mounted = mount()
    fd = os.open(mounted / "file", os.O_RDONLY)
    os.pread(fd, 1, 0)
    read_with_os([mounted / "file"])
    assert mounted.status()["fetches"]["total"] == 1
    os.close(fd)


def test_a_file_many_processes_wait_for_is_fetched_once(source, mount):
    content = os.urandom(4 << 20)
    (source / "file").write_bytes(content)
    mounted = mount()
    script = "for i in $(seq 16); do sha1sum < file & done; wait"
    sums = run(["bash", "-c", script], cwd=mounted.path).stdout.split()[::2]
    assert len(sums) == 16 and len(set(sums)) == 1
    assert mounted.status()["fetches"]["total"] == 1


def test_o_direct_costs_a_read_each_time(source, mount):
    (source / "file").write_bytes(os.urandom(4096))
    mounted = mount()
    (mounted / "file").read_bytes()
    cost = mounted.requests_of(lambda: run(["dd", f"if={mounted / 'file'}", "iflag=direct", "bs=4096", "count=1"]))
    assert cost["read"] == 1, cost


def test_with_answered_opens_the_pages_stay_too(source, mount):
    make_files(source / "small", 100, 2000)
    mounted = mount("--track", "open")
    read_with_os(listed(mounted))
    cost = mounted.cheapest(lambda: read_with_os(listed(mounted)))
    assert cost["open"] == 100 and cost["read"] == 0, cost


def test_without_the_page_cache_every_read_comes_to_the_daemon_and_is_right(source, mount):
    paths = make_files(source / "small", 50, 5000)
    mounted = mount("--track", "open", "--page-cache", "off")
    for _ in range(2):
        cost = mounted.requests_of(
            lambda: [(mounted / "small" / p.name).read_bytes() == p.read_bytes() or pytest.fail(p.name) for p in paths])
        assert cost["read"] >= 50
    assert mounted.status()["memory"]["page_cache_bytes"] == 0


def test_without_the_page_cache_mmap_still_works(source, mount):
    content = os.urandom(50_000)
    (source / "file").write_bytes(content)
    mounted = mount("--track", "open", "--page-cache", "off")
    script = "import mmap, os, sys; sys.stdout.buffer.write(mmap.mmap(os.open(sys.argv[1], 0), 0, prot=1)[:])"
    assert run(["/usr/bin/python3", "-c", script, mounted / "file"]).stdout == content
