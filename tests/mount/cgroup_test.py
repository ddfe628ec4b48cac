"""The stated bounds hold: under memory limits set by them, nobody is killed for memory."""
import json
import os

import pytest

from cgroups import memory_group
from mounts import winnow
from processes import run
from settings import LONG, WINNOW, is_sanitized
from survival import Readers

MIB = 1 << 20
EPOCHS = 10 if LONG else 2
BUDGET = 16 * MIB
WORKER = 400 * MIB  # worker_bound_bytes for a small catalogue, and some for the kernel's own
READER = 64 * MIB
FILE = 4 * MIB + 100

READ_ALL = """
import os, sys
for folder, _, names in os.walk(sys.argv[1]):
    for name in names:
        with open(os.path.join(folder, name), "rb", buffering=0) as file:
            total = 0
            while part := file.read(1 << 20):
                assert not part.strip(b"\\0x"), name
                total += len(part)
            assert total == int(sys.argv[2]), name
"""


def make_sparse_files(folder, total):
    """Much data that takes no room; the last byte tells a file that was read to its end."""
    for i in range(total // FILE + 1):
        with open(folder / f"f{i:05d}", "wb") as file:
            file.truncate(FILE - 1)
            file.seek(FILE - 1)
            file.write(b"x")


@pytest.mark.limit(1200 if LONG else 120)
@pytest.mark.skipif(is_sanitized(), reason="a sanitizer needs memory of its own")
def test_epochs_over_ten_times_the_memory_end_without_a_kill(place, source, mount):
    make_sparse_files(source, 10 * (WORKER + BUDGET if LONG else READER))
    with memory_group("daemon", WORKER + BUDGET) as daemon, memory_group("reader", READER) as reader:
        run(daemon.command([WINNOW, "mount", source, place.mountpoint, "--state-dir", place.state, "--memory", BUDGET]),
            env=place.environment)
        try:
            for _ in range(EPOCHS):
                run(reader.command(["/usr/bin/python3", "-c", READ_ALL, place.mountpoint, FILE]), timeout=300)
            status = winnow("status", "--json", place.mountpoint, env=place.environment).stdout.decode()
            kills = daemon.oom_kills(), reader.oom_kills()
            print(f"\n| cgroup v{daemon.version} | {EPOCHS} epochs over {len(os.listdir(source)) * FILE // MIB} MiB | "
                  f"daemon's group {daemon.high_water() // MIB} of {(WORKER + BUDGET) // MIB} MiB | "
                  f"reader's {reader.high_water() // MIB} of {READER // MIB} MiB | killed {kills} |")
        finally:
            winnow("unmount", place.mountpoint, env=place.environment)
    assert kills == ("0", "0")
    facts = json.loads(status)
    assert facts["survival"]["deaths"] == 0
    assert facts["daemon"]["high_water_bytes"] <= facts["memory"]["worker_bound_bytes"] <= WORKER


# Takes memory that is not counted as its own, until somebody was killed for it: the worker, and then perhaps itself.
HOG = """
import os, pathlib, sys, time
held = os.memfd_create("hog")
while "oom_kill 0" in pathlib.Path(sys.argv[1]).read_text():
    os.write(held, bytes(1 << 20))
    time.sleep(0.001)
"""


@pytest.mark.skipif(is_sanitized(), reason="a sanitizer needs memory of its own")
def test_a_worker_killed_for_memory_is_replaced_and_its_holder_spared(place, source, digests):
    with memory_group("daemon", 200 * MIB) as daemon:
        run(daemon.command([WINNOW, "mount", source, place.mountpoint, "--state-dir", place.state, "--memory", 8 * MIB]),
            env=place.environment)
        try:
            before = json.loads((place.mountpoint / ".winnow/status.json").read_bytes())
            with Readers(place.mountpoint, digests) as readers:
                run(daemon.command(["/usr/bin/python3", "-c", HOG, daemon.events]), check=False)
            readers.assert_nothing_failed()
            after = json.loads((place.mountpoint / ".winnow/status.json").read_bytes())
        finally:
            winnow("unmount", place.mountpoint, env=place.environment)
    assert after["holder_pid"] == before["holder_pid"] and after["worker_pid"] != before["worker_pid"]
    assert after["survival"]["deaths"] >= 1 and after["survival"]["crashes"] == 0
