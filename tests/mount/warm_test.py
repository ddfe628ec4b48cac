"""Warming, and large files, with a real mount over a bucket whose GETs are counted."""
import json
import os
import pty
import re
import select
import signal
import subprocess

from caching_test import (DISK, FILES, SIZE, assert_bytes, bucket, drop_pages, fetched_keys,  # noqa: F401 (a fixture)
                          settle)
from mounts import nearly_full_disk
from processes import wait_until
from settings import SLOWDOWN, WINNOW
from trees import some_bytes

LARGE = some_bytes(40_000_000, seed=77)


def warm(mounted, *words):
    """The result, and the sentence if it was not all well."""
    done = mounted.winnow("warm", mounted.path, "--json", *words, check=False, timeout=100)
    return json.loads(done.stdout), done.stderr.decode()


def test_warm_fills_and_goes_on_where_it_was(origin, bucket, mount_s3):
    mounted = mount_s3(origin, *DISK)
    half = json.loads(mounted.winnow("warm", mounted.path, "--fraction", "50%", "--json").stdout)
    assert mounted.status()["where"]["nowhere"]["files"] == FILES // 2, "counted before the command returned"
    assert half["done_files"] == half["fetched_files"] == FILES // 2 == origin.gets()
    rest = json.loads(mounted.winnow("warm", mounted.path, "--json").stdout)
    where = mounted.status()["where"]
    assert where["disk"]["files"] == FILES and where["nowhere"]["files"] == 0, where
    assert rest["done_files"] == FILES and rest["fetched_files"] == FILES // 2 and origin.gets() == FILES
    assert_bytes(mounted, bucket)
    assert origin.gets() == FILES
    text = mounted.winnow("status", mounted.path).stdout.decode()
    assert "on disk" in text and "100.0 %" in text


def test_warm_in_the_order_of_a_list_and_of_importance(origin, bucket, place, mount_s3):
    mounted = mount_s3(origin, *DISK, "--prefetch", "1")
    keys = sorted(bucket)[::40]
    path = place.root / "list"
    path.write_text("\n".join(reversed(keys)))
    mounted.winnow("warm", mounted.path, "--order", "list", "--list", path)
    assert fetched_keys(origin) == keys[::-1]
    scores = place.root / "scores.csv"
    best = sorted(bucket)[3::40]
    scores.write_text("".join(f"{key},{int(key in best)}\n" for key in bucket))
    mounted.winnow("hint", "--scores", scores, mounted.path)
    mounted.winnow("warm", mounted.path, "--order", "importance", "--fraction", str(len(best) / FILES))
    assert fetched_keys(origin)[len(keys):] == best


def test_warm_check_compares_what_is_held_with_the_source(origin, bucket, mount_s3):
    mounted = mount_s3(origin, *DISK)
    mounted.winnow("warm", mounted.path)
    done, said = warm(mounted, "--check")
    assert done["done_files"] == done["held_files"] == done["compared_files"] == FILES and not said
    assert done["wrong_files"] == done["not_held_files"] == done["unreadable_files"] == 0
    assert origin.gets() == 2 * FILES, "each was read again to compare"


def test_warm_check_claims_nothing_of_what_is_not_held_or_torn(origin, bucket, mount_s3):
    mounted = mount_s3(origin, *DISK)
    said = mounted.winnow("warm", mounted.path, "--check").stdout.decode()
    assert f"compared 0 of {FILES} files with the source, {FILES} not held" in said and origin.gets() == 0, said
    mounted.winnow("warm", mounted.path)
    mounted.unmount()
    for slab in mounted.state.rglob("slab*"):
        with open(slab, "r+b") as file:
            for at in range(0, slab.stat().st_size, 1 << 20):
                file.seek(at + 5000)
                file.write(b"xx")
    mounted.start()
    done, said = warm(mounted, "--check")
    torn = mounted.status()["disk"]["torn"]
    assert done["unreadable_files"] == done["unreadable_slots"] == torn > 5 and not said, done
    assert done["compared_files"] + torn == done["held_files"] == FILES and done["wrong_files"] == 0
    said = mounted.winnow("warm", mounted.path, "--check").stdout.decode()
    assert f"{done['unreadable_files']} not held, 0 not readable" in said, said


def test_warm_check_gives_no_all_clear_without_the_source(origin, bucket, mount_s3):
    mounted = mount_s3(origin, *DISK, "--source-timeout", "1s")
    mounted.winnow("warm", mounted.path, "--fraction", "20%")
    origin.faults(fail={"every": 1, "status": 503, "on": "get"})
    done = mounted.winnow("warm", mounted.path, "--check", check=False)
    assert done.returncode == 1 and b"could not be read from the source" in done.stderr, done
    assert f"{FILES // 5} could not be read there" in done.stdout.decode()


def test_warm_check_tells_what_changed_and_the_next_open_sees_it(origin, bucket, mount_s3):
    mounted = mount_s3(origin, *DISK)
    mounted.winnow("warm", mounted.path)
    key = sorted(bucket)[3]
    assert (mounted / key).read_bytes() == bucket[key]
    origin.put(key, b"new")
    done, said = warm(mounted, "--check")
    assert done["changed_files"] == 1 and done["wrong_files"] == 0 and "not what the source has" in said
    assert (mounted / key).read_bytes() == b"new"


def test_a_large_file_that_was_read_is_on_the_disk(origin, place, mount_s3):
    origin.put("large", LARGE)
    mounted = mount_s3(origin, "--disk", "64M", "--memory", "128M")
    for _ in range(2):
        assert (mounted / "large").read_bytes() == LARGE
        settle(mounted)
        drop_pages(mounted, ["large"])
    first = origin.gets()
    with open(mounted / "large", "rb", buffering=0) as file:
        for at in range(0, len(LARGE), 3_333_333):
            assert os.pread(file.fileno(), 100_000, at) == LARGE[at:at + 100_000]
    mounted.remount()
    assert (mounted / "large").read_bytes() == LARGE
    assert origin.gets() == first
    got = sum(1 for entry in origin.log() if entry["method"] == "GET" and "?" not in entry["target"])
    assert got == first <= 12


def test_warm_brings_large_files_by_parts_and_all_of_them(origin, place, mount_s3):
    for i in range(3):
        origin.put(f"large{i}", LARGE)
    mounted = mount_s3(origin, "--disk", "160M", "--memory", "8M")
    done, said = warm(mounted)
    assert done["held_files"] == done["fetched_files"] == 3 and not said, (done, said)
    assert origin.gets() == 3 * 5
    assert mounted.status()["disk"]["dropped_writes"] == 0
    mounted.remount()
    for i in range(3):
        assert (mounted / f"large{i}").read_bytes() == LARGE
    assert origin.gets() == 3 * 5


def test_warm_and_unmount_lose_nothing(origin, bucket, mount_s3):
    mounted = mount_s3(origin, *DISK)
    mounted.winnow("warm", mounted.path)
    mounted.remount()
    assert_bytes(mounted, bucket)
    assert origin.gets() == FILES


def test_warm_without_a_disk_fills_the_page_cache(origin, bucket, mount_s3):
    mounted = mount_s3(origin, "--memory", "128M")
    done, said = warm(mounted)
    assert done["held_files"] == done["fetched_files"] == FILES == origin.gets() and not said, (done, said)
    assert_bytes(mounted, bucket)
    assert origin.gets() == FILES


def test_warm_resumed_fetches_the_rest_and_its_bar_tells_of_that_alone(origin, bucket, place, mount_s3):
    mounted = mount_s3(origin, *DISK, "--prefetch", "4")
    mounted.winnow("warm", mounted.path, "--fraction", "50%")
    assert origin.gets() == FILES // 2
    origin.faults(latency_ms=100)
    terminal, side = pty.openpty()
    process = subprocess.Popen([WINNOW, "warm", mounted.path], env=mounted.environment, stdout=subprocess.PIPE, stderr=side)
    shown = b""
    while process.poll() is None:
        if select.select([terminal], [], [], 0.1)[0]:
            shown += os.read(terminal, 65536)
    assert process.returncode == 0 and b"warmed 160 of 160 files" in process.communicate()[0]
    os.close(terminal)
    os.close(side)
    assert origin.gets() == FILES
    rates = re.findall(rb"\[#+-+\] (\d+) %  [\d.]+ MiB of [\d.]+ MiB  ([\d.]+) MiB/s  (\d+) s left", shown)
    assert len(rates) >= 3, shown
    # 4 at a time and 0.1 s each are 40 files a second at most; the half that was there counts for nothing.
    assert all(50 <= int(share) <= 100 and float(rate) <= 40 * SIZE / (1 << 20) * 1.3 for share, rate, _ in rates), rates


def test_warm_stops_when_the_disk_is_full_and_refuses_nonsense(origin, bucket, mount_s3):
    mounted = mount_s3(origin, "--disk", str(FILES * SIZE // 4), "--memory", "1M")
    done = json.loads(mounted.winnow("warm", mounted.path, "--json").stdout)
    assert done["full"] and 0.15 * FILES < done["fetched_files"] < 0.26 * FILES
    for words, said in ((["--fraction", "0"], "not a share"), (["--order", "list"], "go together"),
                        (["--order", "size"], "--order")):
        failed = mounted.winnow("warm", mounted.path, *words, check=False)
        assert failed.returncode == 2 and said in failed.stderr.decode(), failed


def test_an_interrupted_warm_says_so_and_leaves_what_it_fetched(origin, bucket, place, mount_s3):
    origin.faults(latency_ms=200)
    mounted = mount_s3(origin, *DISK, "--prefetch", "4")
    process = subprocess.Popen([WINNOW, "warm", mounted.path], env=mounted.environment, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    wait_until(lambda: mounted.status()["warm"]["done_files"] > 10, "it is under way")
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=20 * SLOWDOWN)
    assert process.returncode == 1 and b"interrupted" in said
    made = mounted.status()["warm"]["done_files"]
    assert 10 < made < FILES
    origin.faults(latency_ms=0)
    assert origin.gets() < FILES
    mounted.winnow("warm", mounted.path)
    assert origin.gets() == FILES, "what was interrupted goes on where it was"


def test_an_unmount_ends_a_warm_which_says_so_and_goes_on_after_the_next_mount(origin, bucket, mount_s3):
    origin.faults(latency_ms=100)
    mounted = mount_s3(origin, *DISK, "--prefetch", "4")
    terminal, side = pty.openpty()  # its bar asks a mount that is going
    process = subprocess.Popen([WINNOW, "warm", mounted.path], env=mounted.environment, stdout=subprocess.PIPE, stderr=side)
    wait_until(lambda: mounted.status()["warm"]["done_files"] > 10, "it is under way")
    mounted.unmount()
    told = process.communicate(timeout=20 * SLOWDOWN)[0].decode()
    said = os.read(terminal, 65536).decode()
    os.close(terminal)
    os.close(side)
    held = re.search(rf"warmed (\d+) of {FILES} files", told)
    assert process.returncode == 1 and held and 10 < int(held[1]) < FILES, told
    assert f"the mount ended when {held[1]} of {FILES} files were warmed" in said, said
    assert "run it again after the next mount, it goes on where it stopped" in said, said
    assert "not kept" not in said, said
    origin.faults(latency_ms=0)
    mounted.start()
    mounted.winnow("warm", mounted.path)
    assert origin.gets() == FILES, "it went on where it stopped"


def test_warm_without_a_disk_and_with_little_memory_brings_half_of_that(origin, bucket, mount_s3):
    mounted = mount_s3(origin, "--memory", "4M")
    done, said = warm(mounted)
    assert done["full"] and 1_500_000 <= done["held_bytes"] <= 2 << 20 and not said, (done, said)


def test_warm_gives_up_when_the_source_fails_and_goes_on_later(origin, bucket, mount_s3):
    mounted = mount_s3(origin, *DISK, "--source-timeout", "200ms")
    mounted.winnow("warm", mounted.path, "--fraction", "10%")
    origin.faults(fail={"every": 1, "status": 503, "on": "get"})
    done = mounted.winnow("warm", mounted.path, check=False)
    said = done.stderr.decode()
    assert done.returncode == 1 and f"given up with {FILES // 10} of {FILES} files warmed" in said, done
    assert "as file after file could not be read from the source" in said, done
    failed = mounted.status()["warm"]["failed_files"]
    assert 4 <= failed < 64, failed
    origin.clear()
    mounted.winnow("warm", mounted.path)
    assert mounted.status()["where"]["disk"]["files"] == FILES


def test_warm_tells_a_disk_that_is_not_written_to_from_a_full_cache(origin, bucket, place, mount_s3):
    with nearly_full_disk(place) as small:
        mounted = mount_s3(origin, "--disk", "60M", "--disk-dir", small / "disk", "--memory", "1M")
        for _ in range(2):  # when it stops writing, and after that
            done = mounted.winnow("warm", mounted.path, check=False)
            told, said = done.stdout.decode(), done.stderr.decode()
            assert done.returncode == 1 and "cache is full" not in told and "No space left" in said, done
        assert re.search(rf"given up with \d+ of {FILES} files warmed, as the disk is not written to: ", said), said
        mounted.unmount()
