"""The trace of a live mount: recorded by the daemon, replayed by winnow simulate."""
import csv
import json
import os
import subprocess

import pytest

from mounts import winnow
from processes import kill, run, wait_for_end, wait_until
from trees import make_files

FILES = 40


@pytest.fixture
def names(source):
    make_files(source / "cat", FILES // 2, 2000)
    make_files(source / "dog", FILES // 2, 3000)
    (source / "dog" / 'a, "b"\nc').write_bytes(b"x" * 500)
    return sorted(str(path.relative_to(source)) for path in source.rglob("*") if path.is_file())


def read_each(mounted, names):
    for name in names:
        fd = os.open(mounted / name, os.O_RDONLY)
        os.read(fd, 4096)
        os.close(fd)


def recording(mounted):
    return mounted.status()["recording"]


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def begin(mounted, path, *options):
    return mounted.winnow("status", "--record", path, *options, mounted.path).stdout.decode()


def end(mounted):
    return mounted.winnow("status", "--record-stop", mounted.path).stdout.decode()


@pytest.fixture
def trace(place):
    return place.root / "trace.csv"


@pytest.mark.parametrize("mode", ["fanotify", "open"])
def test_opens_are_recorded_and_can_be_simulated(mode, mount, names, trace, place):
    mounted = mount("--track", "auto" if mode == "fanotify" else mode)
    if mounted.status()["tracking"]["mode"] != mode:
        pytest.skip(f"{mode} is not permitted here")
    read_each(mounted, names)  # before, so not recorded
    wait_until(lambda: mounted.status()["reads"]["opens"] >= len(names), "the opens before are seen")
    begin(mounted, trace)
    assert recording(mounted)["active"] and recording(mounted)["file"] == str(trace)
    for done, order in enumerate((names, names[::-1], names), 1):
        read_each(mounted, order)  # fanotify merges opens of one file that it has not told yet: so wait
        wait_until(lambda: recording(mounted)["written"] == done * len(names), "every access is written")
    shown = mounted.winnow("status", mounted.path).stdout.decode()
    assert f"{3 * len(names)} accesses written, 0 lost" in shown
    assert end(mounted) == f"recorded {3 * len(names)} accesses to {trace}, 0 lost\n"
    read_each(mounted, names)
    rows = rows_of(trace)
    assert [row["path"] for row in rows] == names + names[::-1] + names
    assert all(int(row["bytes"]) == os.path.getsize(place.source / row["path"]) for row in rows)
    assert {int(row["reader"]) for row in rows} == {os.getpid()}
    seconds = [float(row["seconds"]) for row in rows]
    assert seconds == sorted(seconds) and seconds[0] > 1.7e9

    result = json.loads(winnow("simulate", trace, "--sizes", "50%,100%", "--json").stdout)
    assert (result["reads"], result["files"], result["epochs"]) == (3 * len(names), len(names), 3)
    hits = {(one["cache"], one["policy"]): one["hits"] for one in result["results"]}
    assert hits["100%", "lru"] == hits["100%", "belady"] == 2 * len(names)
    assert hits["50%", "lru"] <= hits["50%", "belady"] < 2 * len(names)


def test_without_tracking_the_misses_are_recorded(mount, names, trace):
    mounted = mount("--track", "off")
    assert "only reads that miss" in begin(mounted, trace)
    read_each(mounted, names)
    read_each(mounted, names)  # from the page cache
    assert "recorded" in end(mounted)
    assert sorted(row["path"] for row in rows_of(trace)) == names


def test_the_next_worker_goes_on_recording(mount, names, trace):
    mounted = mount("--track", "open")
    begin(mounted, trace)
    for round_number in range(1, 4):
        read_each(mounted, names)
        wait_until(lambda: recording(mounted)["written"] == round_number * len(names), "they are written")
        worker = mounted.worker()
        kill(worker)
        assert wait_for_end(worker, 15)
        wait_until(lambda: recording(mounted)["active"] and
                   recording(mounted)["written"] == round_number * len(names), "the next one goes on")
    end(mounted)
    assert [row["path"] for row in rows_of(trace)] == 3 * names


def test_an_upgrade_goes_on_recording(mount, names, trace):
    mounted = mount("--track", "open")
    begin(mounted, trace)
    read_each(mounted, names)
    wait_until(lambda: recording(mounted)["written"] == len(names), "they are written")
    mounted.winnow("upgrade", mounted.path)
    mounted.pid = mounted.status()["pid"]
    wait_until(lambda: recording(mounted)["active"], "the new version records")
    read_each(mounted, names)
    end(mounted)
    assert len(rows_of(trace)) == 2 * len(names)


def test_an_unmount_ends_the_recording_and_keeps_it(mount, names, trace):
    mounted = mount("--track", "open")
    begin(mounted, trace)
    read_each(mounted, names)
    mounted.remount()
    assert [row["path"] for row in rows_of(trace)] == names
    assert not recording(mounted)["active"]


def test_a_full_disk_ends_the_recording_but_not_the_mount(mount, names, place):
    small = place.root / "small"
    small.mkdir()
    run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", small])
    try:
        mounted = mount("--track", "open")
        begin(mounted, small / "trace.csv")
        for _ in range(20):
            read_each(mounted, names)
        wait_until(lambda: recording(mounted)["ended"] == "No space left on device", "the disk is full")
        assert recording(mounted)["lost"] > 0
        assert (small / "trace.csv").read_bytes().endswith(b"\n")
        read_each(mounted, names)
        assert "ended: No space left on device" in mounted.winnow("status", mounted.path).stdout.decode()
        assert "ended after" in (place.state / "winnow.log").read_text()
        assert "it had ended: No space left on device" in end(mounted)
    finally:
        run(["umount", small])


def test_refusals_are_one_sentence(mount, names, trace):
    mounted = mount("--track", "open")

    def refused(*words):
        done = mounted.winnow("status", *words, mounted.path, check=False)
        assert done.returncode == 1
        return done.stderr.decode()

    assert refused("--record-stop") == \
        "winnow: nothing is being recorded; begin with winnow status --record FILE\n"
    trace.write_text("mine")
    assert refused("--record", trace) == f"winnow: {trace} is there already; name a new file, or remove it\n"
    assert trace.read_text() == "mine"
    trace.unlink()
    begin(mounted, trace)
    assert "records to" in refused("--record", f"{trace}.2")


def test_simulate_draws_a_plot(place, names):
    plot = place.root / "plot.svg"
    winnow("simulate", "--generate", "zipf", "--files", "500", "--plot", plot)
    text = plot.read_text()
    assert text.startswith("<svg") and text.count("<polyline") == 7
    subprocess.run(["/usr/bin/python3", "-c", "import sys, xml.dom.minidom as x; x.parse(sys.argv[1])", plot], check=True)
