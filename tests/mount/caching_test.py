"""The disk tier, the sweep and declared orders, with a real mount over a bucket whose GETs are counted."""
import json
import os
import random
import subprocess
import threading

import pytest

from mounts import nearly_full_disk, winnow
from processes import kill, run, wait_until
from settings import SLOWDOWN
from survival import wait_for_next_worker
from trees import some_bytes

FILES, SIZE = 160, 150_000
DISK = ("--disk", "64M", "--memory", "32M")

READER = """
import os, random, sys
paths = open(sys.argv[1]).read().splitlines()
for seed in map(int, sys.argv[2].split(",")):
    random.Random(seed).shuffle(paths)
    for path in paths:
        fd = os.open(path, os.O_RDONLY)
        assert len(os.read(fd, 1 << 20)) == 150000
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)
"""


@pytest.fixture
def bucket(origin):
    """{key: content}, in folders like classes."""
    contents = {f"train/c{i % 7}/f{i:04d}": some_bytes(SIZE, seed=i) for i in range(FILES)}
    for key, content in contents.items():
        origin.put(key, content)
    return contents


def epochs(mounted, place, seeds="1", listed=None):
    """Reads every file in a new process group, in a new order for each seed."""
    path = place.root / "paths"
    keys = listed or sorted(os.path.join(folder, name) for folder, _, names in os.walk(mounted.path) for name in names)
    path.write_text("\n".join(map(str, keys)))
    subprocess.run(["/usr/bin/python3", "-c", READER, path, seeds], check=True, start_new_session=True, timeout=100 * SLOWDOWN)


def assert_bytes(mounted, contents):
    for key, content in contents.items():
        assert (mounted / key).read_bytes() == content, key


def drop_pages(mounted, contents):
    for key in contents:
        fd = os.open(mounted / key, os.O_RDONLY)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)


def fetched_keys(origin):
    """In the order of the GETs; listings have a query."""
    return [entry["target"].removeprefix("/data/") for entry in origin.log()
            if entry["method"] == "GET" and "?" not in entry["target"]]


def files_on_disk(mounted, contents):
    return sum(json.loads(os.getxattr(mounted / key, "user.winnow"))["on_disk"] for key in contents)


def settle(mounted):
    wait_until(lambda: mounted.status()["disk"]["queued_bytes"] == 0 and mounted.status()["prefetch"]["at_once"] == 0,
               "all is written")


def test_an_epoch_is_swept_ahead_and_fetches_each_file_once(origin, bucket, place, mount_s3):
    origin.faults(latency_ms=20)
    mounted = mount_s3(origin, *DISK)
    epochs(mounted, place)
    assert origin.counts()["gets"] == {key: 1 for key in bucket}
    assert mounted.status()["prefetch"]["fetched"] > FILES / 2, "most were there before they were asked for"
    assert_bytes(mounted, bucket)
    settle(mounted)
    epochs(mounted, place, "2,3")
    assert origin.gets() == FILES, "everything was on the disk"


def test_a_cache_of_a_fifth_fetches_the_rest_and_keeps_its_budget(origin, bucket, place, mount_s3):
    budget = FILES * SIZE // 5
    mounted = mount_s3(origin, "--disk", str(budget), "--memory", "8M")
    epochs(mounted, place, "1")
    for seed in "23":
        settle(mounted)
        held, before = files_on_disk(mounted, bucket), origin.gets()
        assert held > 0.1 * FILES
        epochs(mounted, place, seed)
        assert origin.gets() - before <= FILES - held + 0.02 * FILES
    used = sum(os.lstat(entry).st_blocks * 512 for entry in os.scandir(mounted.state / "disk"))
    assert used <= budget


def test_the_disk_survives_restarts_and_kills(origin, bucket, place, mount_s3):
    mounted = mount_s3(origin, *DISK)
    epochs(mounted, place)
    settle(mounted)
    before = mounted.worker()
    kill(before)
    wait_for_next_worker(mounted, before)
    drop_pages(mounted, bucket)
    assert_bytes(mounted, bucket)
    assert origin.gets() == FILES
    mounted.remount()
    assert_bytes(mounted, bucket)
    assert origin.gets() == FILES


def test_a_flipped_byte_on_the_disk_is_fetched_again_never_served(origin, bucket, place, mount_s3):
    mounted = mount_s3(origin, *DISK)
    epochs(mounted, place)
    settle(mounted)
    mounted.unmount()
    slab = next((mounted.state / "disk").glob("slab-*"))
    content = bytearray(slab.read_bytes())
    rng = random.Random(3)
    for _ in range(40):
        content[rng.randrange(FILES * SIZE)] ^= 1
    slab.write_bytes(content)
    mounted.start()
    assert_bytes(mounted, bucket)
    status = mounted.status()
    assert 20 <= status["disk"]["torn"] <= 40
    assert origin.gets() == FILES + status["disk"]["torn"]


def test_walkers_start_no_sweep(origin, bucket, mount_s3):
    mounted = mount_s3(origin, *DISK)
    run(["find", mounted.path, "-type", "f"])
    run(["tar", "cf", "/dev/null", "-C", mounted.path, "."])
    for key in sorted(bucket)[:200]:
        run(["cat", mounted / key]) if key.endswith("0") else (mounted / key).read_bytes()
    assert mounted.status()["prefetch"]["fetched"] == 0


def test_a_declared_order_is_followed_exactly(origin, bucket, place, mount_s3):
    mounted = mount_s3(origin, *DISK, "--track", "off", "--prefetch", "1")
    order = list(bucket)
    random.Random(4).shuffle(order)
    path = place.root / "order.txt"
    path.write_text("\n".join(order))
    said = mounted.winnow("hint", path, mounted.path).stdout.decode()
    assert f"an order of {FILES} files" in said
    wait_until(lambda: mounted.status()["prefetch"]["fetched"] == FILES, "all is fetched", 60)
    assert fetched_keys(origin) == order
    assert_bytes(mounted, bucket)
    assert origin.gets() == FILES
    assert mounted.status()["prefetch"]["declared_files_left"] == 0
    wait_until(lambda: not (mounted.state / "order").exists(), "the next worker has no order to begin again")


def test_without_tracking_nothing_is_swept_by_itself(origin, bucket, place, mount_s3):
    mounted = mount_s3(origin, *DISK, "--track", "off")
    epochs(mounted, place)
    assert mounted.status()["prefetch"]["fetched"] == 0


def test_bad_hints_are_refused_whole(origin, bucket, place, mount_s3):
    mounted = mount_s3(origin, *DISK)
    path = place.root / "order.txt"
    path.write_text("train/c0/f0000\ntrain/c0/nothing\n")
    done = mounted.winnow("hint", path, mounted.path, check=False)
    assert done.returncode == 1 and b"line 2" in done.stderr and b"train/c0/nothing" in done.stderr
    done = mounted.winnow("hint", place.root / "missing", mounted.path, check=False)
    assert done.returncode == 1 and b"No such file" in done.stderr
    path.write_bytes(b"\x7fELF\x1b[2J" + bytes(1000))
    done = mounted.winnow("hint", path, mounted.path, check=False)
    assert done.returncode == 1 and b"'?ELF?[2J??" in done.stderr and len(done.stderr) < 500, done
    assert mounted.status()["prefetch"]["declared_files_left"] == 0


def test_an_order_that_nobody_would_follow_is_refused(origin, bucket, place, mount_s3):
    mounted = mount_s3(origin, *DISK, "--prefetch", "0")
    path = place.root / "order.txt"
    path.write_text("train/c0/f0000\n")
    done = mounted.winnow("hint", path, mounted.path, check=False)
    assert done.returncode == 1 and b"--prefetch 0" in done.stderr, done


def test_scores_decide_who_stays(origin, bucket, place, mount_s3):
    mounted = mount_s3(origin, "--disk", str(FILES * SIZE // 4), "--memory", "1M", "--prefetch", "0")
    keys = sorted(bucket)
    important = set(keys[::8])
    path = place.root / "scores.csv"
    path.write_text("path,score\n" + "".join(f"{key},{int(key in important)}\n" for key in keys))
    assert b"scores of" in mounted.winnow("hint", "--scores", path, mounted.path).stdout
    for seed in "12":
        epochs(mounted, place, seed)
    settle(mounted)
    drop_pages(mounted, bucket)
    held = {key for key in keys if json.loads(os.getxattr(mounted / key, "user.winnow"))["on_disk"]}
    # A quarter of the data set fits. Not all of the important ones need be there: what was read this epoch leaves first.
    assert len(held) < FILES // 3 and len(held & important) >= 0.75 * len(important)


def test_readers_get_the_right_bytes_from_a_disk_that_loses_them_and_it_is_written_anew(origin, bucket, place, mount_s3):
    mounted = mount_s3(origin, *DISK, "--prefetch", "0")
    epochs(mounted, place)
    settle(mounted)
    reader = threading.Thread(target=epochs, args=(mounted, place, "2,3,4"))
    reader.start()
    for slab in (mounted.state / "disk").glob("slab-*"):
        os.truncate(slab, 0)  # from now on its reads fail
    reader.join()
    for _ in range(3):  # a slot goes when it could not be read twice
        drop_pages(mounted, bucket)
        assert_bytes(mounted, bucket)
        settle(mounted)
    status, before = mounted.status()["disk"], origin.gets()
    assert status["read_errors"] + status["torn"] >= FILES / 2 and status["writing"], status
    drop_pages(mounted, bucket)
    assert_bytes(mounted, bucket)
    assert origin.gets() == before


def test_a_full_disk_turns_writing_off_with_one_warning_and_reads_go_on(origin, bucket, place, mount_s3):
    with nearly_full_disk(place) as small:
        mounted = mount_s3(origin, "--disk", "60M", "--disk-dir", small / "disk", "--memory", "1M")
        epochs(mounted, place)
        assert_bytes(mounted, bucket)
        status = mounted.status()["disk"]
        assert not status["writing"] and "No space left" in status["why_not_writing"]
        assert "winnow_disk_writing 0" in (mounted / ".winnow/metrics").read_text()
        wait_until(lambda: "No space left" in (mounted.state / "winnow.log").read_text(), "the log tells", 20)
        assert (mounted.state / "winnow.log").read_text().count("No space left") == 1
        mounted.unmount()


@pytest.mark.parametrize("policy", ["importance", "lru", "2-random", "none"])
def test_every_policy_serves_the_right_bytes_and_keeps_both_budgets(origin, bucket, place, mount_s3, policy):
    mounted = mount_s3(origin, "--policy", policy, "--disk", str(FILES * SIZE // 4), "--memory", "2M")
    epochs(mounted, place, "1,2")
    assert_bytes(mounted, bucket)
    status = mounted.status()
    assert status["policy"] == policy
    assert status["disk"]["bytes_on_disk"] <= status["disk"]["budget_bytes"]
    wait_until(lambda: mounted.status()["memory"]["page_cache_bytes"] <= 2 << 20, "the page cache is trimmed")


def test_options_of_the_tiers_that_cannot_be_meant_are_refused(origin, place):
    for words, said in ((["--disk-dir", place.root / "d"], "--disk SIZE"), (["--disk", "5%"], "not a size"),
                        (["--policy", "best"], "--policy"), (["--disk", "1K"], "disk"),
                        (["--disk", "9999T"], "is more than the ")):
        done = winnow("mount", place.source, place.mountpoint, "--state-dir", place.state, *words, check=False,
                      env=place.environment)
        assert done.returncode != 0 and said in done.stderr.decode(), (words, done.stderr)
