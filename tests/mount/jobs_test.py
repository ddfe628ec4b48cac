"""Who is a job and who is not, and what the sweep does for several at once: loaders, ranks, walkers, with a real mount over
a bucket whose GETs are counted."""
import os
import random
import subprocess
import textwrap
import time

import pytest

from processes import run, wait_until
from settings import PROJECT, SLOWDOWN, WINNOW
from trees import some_bytes

FILES, SIZE = 240, 60_000
DISK = ("--disk", "64M", "--memory", "32M")
PYTHON = "/usr/bin/python3"

# Arguments: list of paths, epochs, workers, persistent, and the marks to wait for between epochs.
LOADER = """
import sys, torch
from torch.utils.data import DataLoader, Dataset
paths = open(sys.argv[1]).read().splitlines()
class Files(Dataset):
    def __len__(self): return len(paths)
    def __getitem__(self, i):
        with open(paths[i], "rb") as file: return len(file.read())
loader = DataLoader(Files(), batch_size=8, shuffle=True, num_workers=int(sys.argv[3]),
                    persistent_workers=sys.argv[4] == "1", generator=torch.Generator().manual_seed(1))
for epoch in range(int(sys.argv[2])):
    assert sum(int(batch.sum()) for batch in loader) == len(paths) * 60000
    print("epoch", flush=True)
    sys.stdin.readline()
"""

# Arguments: list of paths, seeds by commas, rank, ranks, drop pages after reading.
RANK = """
import os, random, sys
paths = open(sys.argv[1]).read().splitlines()
rank, ranks = int(sys.argv[3]), int(sys.argv[4])
for seed in map(int, sys.argv[2].split(",")):
    order = random.Random(seed).sample(paths, len(paths))[rank::ranks]
    for path in order:
        fd = os.open(path, os.O_RDONLY)
        assert len(os.read(fd, 1 << 20)) == 60000
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)
    print("epoch", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def bucket(origin):
    contents = {f"train/c{i % 6}/f{i:04d}": some_bytes(SIZE, seed=i) for i in range(FILES)}
    for key, content in contents.items():
        origin.put(key, content)
    return contents


class Reader:
    """A program in a group of its own that says "epoch" after each, and waits for a line before the next."""

    def __init__(self, script, *words):
        self.process = subprocess.Popen([PYTHON, "-c", script, *map(str, words)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, start_new_session=True)

    def epoch(self):
        assert self.process.stdout.readline() == "epoch\n"

    def go_on(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def end(self):
        self.process.stdin.close()
        assert self.process.wait(30 * SLOWDOWN) == 0


def list_of(place, keys, mounted, name="paths"):
    path = place.root / name
    path.write_text("\n".join(str(mounted / key) for key in sorted(keys)))
    return path


def jobs_of(mounted):
    return mounted.status()["prefetch"]["jobs"]


def has_torch():
    return subprocess.run([PYTHON, "-c", "import torch"], capture_output=True).returncode == 0


@pytest.mark.parametrize("persistent", [0, 1])
def test_a_data_loader_is_a_job_whose_epochs_are_seen(origin, bucket, place, mount_s3, persistent):
    if not has_torch():
        pytest.skip("python3-torch is not installed: no DataLoader to read with")
    origin.faults(latency_ms=20)
    mounted = mount_s3(origin, *DISK)
    reader = Reader(LOADER, list_of(place, bucket, mounted), 3, 4, persistent)
    for number in range(1, 4):
        reader.epoch()
        wait_until(lambda: [job["epoch"] for job in jobs_of(mounted)] == [number + 1], f"epoch {number} has ended")
        assert origin.counts()["gets"] == {key: 1 for key in bucket}, "each file is fetched once, whoever asks"
        reader.go_on()
    reader.end()
    assert mounted.status()["prefetch"]["fetched"] > FILES / 4


def test_the_readmes_loader_declares_its_order(origin, place, mount_s3):
    if subprocess.run([PYTHON, "-c", "import torchvision"], capture_output=True).returncode != 0:
        pytest.skip("python3-torchvision is not installed: no ImageFolder to read with")
    run([PYTHON, PROJECT / "deploy/demo/make_images.py", place.root / "images"])
    images = sorted((place.root / "images").rglob("*.png"))[::8]
    for image in images:
        origin.put(str(image.relative_to(place.root / "images")), image.read_bytes())
    origin.faults(latency_ms=20)
    mounted = mount_s3(origin, *DISK)
    readme = (PROJECT / "README.md").read_text()
    example = next(block for block in readme.split("```python")[1:] if '"hint"' in block).split("```")[0]
    script = "\n".join([
        "import subprocess, torch", "from torch.utils.data import DataLoader", "from torchvision import datasets, transforms",
        f"dataset = datasets.ImageFolder({str(mounted / 'train')!r}, transforms.ToTensor())",
        textwrap.dedent(example).replace("/mnt/imagenet", str(mounted.path)).replace("/tmp/order", str(place.root / "order"))
        .replace('"winnow"', repr(str(WINNOW))),
        f"assert sum(len(labels) for _, labels in loader) == {len(images)}"])
    run([PYTHON, "-c", script], env=place.environment)
    assert origin.gets() == len(images), "each file is fetched once"
    prefetch = mounted.status()["prefetch"]
    assert prefetch["fetched"] > len(images) / 2 and prefetch["declared_files_left"] == 0


def test_two_jobs_at_once_fetch_each_file_once(origin, bucket, place, mount_s3):
    origin.faults(latency_ms=20)
    mounted = mount_s3(origin, *DISK)
    paths = list_of(place, bucket, mounted)
    readers = [Reader(RANK, paths, f"{seed},{seed + 1}", 0, 1) for seed in (1, 3)]
    for _ in range(2):
        for reader in readers:
            reader.epoch()
        wait_until(lambda: len(jobs_of(mounted)) == 2, "both are seen")
        for reader in readers:
            reader.go_on()
    for reader in readers:
        reader.end()
    assert origin.counts()["gets"] == {key: 1 for key in bucket}


def test_ranks_in_groups_of_their_own_share_a_sweep(origin, bucket, place, mount_s3):
    origin.faults(latency_ms=20)
    mounted = mount_s3(origin, *DISK)
    paths = list_of(place, bucket, mounted)
    readers = [Reader(RANK, paths, "1,2,3,4,5", rank, 2) for rank in range(2)]
    for _ in range(5):
        for reader in readers:
            reader.epoch()
        for reader in readers:
            reader.go_on()
    wait_until(lambda: [job["epoch"] >= 4 for job in jobs_of(mounted)] == [True, True],
               "parts dealt anew have epochs too")
    for reader in readers:
        reader.end()
    assert origin.counts()["gets"] == {key: 1 for key in bucket}


def test_another_jobs_data_takes_the_place_of_what_nobody_reads(origin, place, mount_s3):
    keys = {part: [f"{part}/f{i:04d}" for i in range(120)] for part in ("train", "val")}
    for part in keys.values():
        for key in part:
            origin.put(key, some_bytes(SIZE, seed=hash(key) % 1000))
    for options in ((), ("--prefetch", "0")):
        mounted = mount_s3(origin, "--disk", str(125 * SIZE), "--memory", "1M", *options)
        for part in ("train", "val"):
            reader = Reader(RANK, list_of(place, keys[part], mounted, part), "1,2,3", 0, 1)
            for _ in range(3):
                reader.epoch()
                wait_until(lambda: mounted.status()["disk"]["queued_bytes"] == 0, "all is written")
                reader.go_on()
            reader.end()
            before = origin.gets()
            reader = Reader(RANK, place.root / part, "4", 0, 1)
            reader.epoch()
            reader.go_on()
            reader.end()
            assert origin.gets() - before < 30, f"{part} is on the disk, {options}"
        mounted.unmount()
        run(["rm", "-rf", mounted.state / "disk"])


WALKERS = {
    "parallel sums": "find {0} -type f | xargs -P4 -n50 md5sum",
    "parallel sums of one file each": "find {0} -type f | sort | xargs -P4 -n1 md5sum",
    "cp": "cp -r {0}/train {1}/copy",
    "tar": "tar cf - -C {0} . | cat",
    "rsync": "rsync -r {0}/train/ {1}/rsynced",
    "grep": "grep -r nothing {0}/train; true",
}


@pytest.mark.parametrize("command", WALKERS.values(), ids=WALKERS.keys())
def test_walkers_are_no_jobs_however_many_processes_they_have(origin, bucket, place, mount_s3, command):
    mounted = mount_s3(origin, *DISK)
    run(["sh", "-c", command.format(mounted.path, place.root)], start_new_session=True)
    prefetch = mounted.status()["prefetch"]
    assert prefetch["fetched"] == 0 and prefetch["jobs"] == []


# Arguments: list of paths, whether to shuffle. Four threads read a quarter each, and stay: of those that are gone, nobody
# can tell the group.
THREADS = """
import random, sys
from threading import Barrier, Event, Thread
has_read, may_end = Barrier(5), Event()
paths = open(sys.argv[1]).read().splitlines()
if sys.argv[2] == "1": random.Random(1).shuffle(paths)
def read(part):
    for path in part:
        with open(path, "rb") as file: file.read()
    has_read.wait()
    may_end.wait()
threads = [Thread(target=read, args=(paths[i * len(paths) // 4:(i + 1) * len(paths) // 4],)) for i in range(4)]
for thread in threads: thread.start()
has_read.wait()
print("epoch", flush=True)
sys.stdin.readline()
may_end.set()
"""


@pytest.mark.parametrize("track", ["fanotify", "open"])
def test_threads_that_walk_are_no_job_and_threads_that_shuffle_are_one(origin, bucket, place, mount_s3, track):
    origin.faults(latency_ms=5)
    mounted = mount_s3(origin, *DISK, "--track", track)
    paths = list_of(place, bucket, mounted)
    for shuffles in (0, 1):
        reader = Reader(THREADS, paths, shuffles)
        reader.epoch()
        wait_until(lambda: len(jobs_of(mounted)) == shuffles, "threads that shuffle are a job")
        assert mounted.status()["prefetch"]["fetched"] == 0 or shuffles
        reader.go_on()
        reader.end()


@pytest.mark.parametrize("disk", [True, False])
def test_a_declared_order_with_tracking_is_fetched_in_that_order(origin, bucket, place, mount_s3, disk):
    at_once = 8
    mounted = mount_s3(origin, *(DISK if disk else ("--memory", "64M")), "--prefetch", str(at_once))
    order = list(bucket)
    random.Random(4).shuffle(order)
    path = place.root / "order.txt"
    path.write_text("\n".join(order))
    mounted.winnow("hint", path, mounted.path)
    time.sleep(0.3)
    run(["find", mounted.path, "-type", "f"])  # without a disk, only what the kernel knows can be pushed to it
    wait_until(lambda: mounted.status()["prefetch"]["fetched"] == FILES, "all is fetched", 60)
    fetched = [entry["target"].removeprefix("/data/") for entry in origin.log()
               if entry["method"] == "GET" and "?" not in entry["target"]]
    assert sorted(fetched) == sorted(order)
    # A thread that the machine lets wait is overtaken; the others arrive as they were begun.
    far = [key for place_, key in enumerate(fetched) if abs(order.index(key) - place_) >= 2 * at_once]
    assert len(far) <= len(order) // 20, "no further apart"
    for key in order:
        assert (mounted / key).read_bytes() == bucket[key]
    taken_back = 0 if disk else FILES // 10  # pages, by kernels that reclaim what lies idle (DAMON)
    assert FILES <= origin.gets() <= FILES + taken_back
    wait_until(lambda: mounted.status()["prefetch"]["declared_files_left"] == 0, "the order was read")


def test_of_a_declared_order_the_disk_brings_to_memory_what_is_read_next(origin, bucket, place, mount_s3):
    mounted = mount_s3(origin, "--disk", "64M", "--memory", "8M")
    mounted.winnow("warm", mounted.path)
    run(["find", mounted.path, "-type", "f"])  # only what the kernel knows can be pushed to it
    order = list(bucket)
    random.Random(5).shuffle(order)
    path = place.root / "order.txt"
    path.write_text("\n".join(order))
    pushed = mounted.status()["memory"]["pushed_files"]
    mounted.winnow("hint", path, mounted.path)
    wait_until(lambda: mounted.status()["memory"]["pushed_files"] - pushed >= 40, "what is read first is brought")
    assert mounted.status()["memory"]["pushed_files"] - pushed < FILES // 2, "not more than memory is for"

    def read_all():
        for key in order:
            assert (mounted / key).read_bytes() == bucket[key]
            time.sleep(0.005 * SLOWDOWN)  # a reader that the disk can keep ahead of
    reads = mounted.requests_of(read_all)["read"]
    assert reads <= FILES // 5, "the others found their bytes in memory"
    assert origin.gets() == FILES
    assert mounted.status()["memory"]["page_cache_high_water_bytes"] <= (8 << 20) + SIZE, "past by less than a file"


@pytest.mark.parametrize("policy", ["importance", "2-random", "lru", "none"])
def test_whatever_the_policy_memory_takes_in_what_an_order_names(origin, bucket, place, mount_s3, policy):
    mounted = mount_s3(origin, *DISK, "--policy", policy)
    run(["find", mounted.path, "-type", "f"])
    path = place.root / "order.txt"
    path.write_text("\n".join(bucket))
    mounted.winnow("hint", path, mounted.path)
    wait_until(lambda: mounted.status()["memory"]["pushed_files"] >= FILES // 2, "what is ordered comes to memory")


def test_an_order_whose_reader_died_makes_way_for_the_next_job(origin, bucket, place, mount_s3):
    mounted = mount_s3(origin, "--disk", str(80 * SIZE), "--memory", "1M")
    order = sorted(bucket)[:120]
    path = place.root / "order.txt"
    path.write_text("\n".join(order))
    mounted.winnow("hint", path, mounted.path)
    crashed = list_of(place, order[:50], mounted, "crashed")
    reader = Reader(RANK, crashed, "1", 0, 1)
    reader.epoch()
    reader.go_on()
    reader.end()
    rest = Reader(RANK, list_of(place, sorted(bucket)[120:], mounted, "rest"), "1", 0, 1)
    rest.epoch()
    status = mounted.status()["prefetch"]
    rest.go_on()
    rest.end()
    assert status["declared_files_left"] == 0 and len(status["jobs"]) == 1
