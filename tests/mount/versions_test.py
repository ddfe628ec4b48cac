"""Readers against a writer: whatever a descriptor reads is of one version, and readers get through."""
import errno
import os
import subprocess
import sys
import threading

import pytest

from processes import wait_until
from trees import assert_same, make_files

WRITER = """
import os, sys, time
folder, how = sys.argv[1:3]
sizes = dict(word.split("=") for word in sys.argv[3:])
number = 0
while True:
    number += 1
    for name, size in sizes.items():
        if int(size) > 1_000_000 and number % 5: continue
        content = b"%07d\\n" % number * (int(size) // 8)
        if how == "rename":
            with open(folder + "/../temporary", "wb") as file: file.write(content)
            os.rename(folder + "/../temporary", folder + "/" + name)
        else:
            fd = os.open(folder + "/" + name, os.O_WRONLY)
            os.write(fd, content)
            os.close(fd)
    time.sleep(0.01)
"""


class Readers:
    """Reads files over and over, and keeps what is wrong about them."""

    def __init__(self, may_be_stale=True):
        self.may_be_stale = may_be_stale
        self.problems, self.versions, self.whole_reads, self.stale_reads = [], set(), 0, 0
        self.stopping = threading.Event()
        self.threads = []

    def start(self, path, step):
        self.threads.append(threading.Thread(target=self.run, args=[path, step]))
        self.threads[-1].start()

    def run(self, path, step):
        while not self.stopping.is_set():
            try:
                self.check(path, step)
            except OSError as error:
                self.stale_reads += 1
                if not self.may_be_stale or error.errno not in (errno.ESTALE, errno.EIO, errno.ENOENT):
                    self.problems.append(error)

    def check(self, path, step):
        parts = []
        try:
            with open(path, "rb", buffering=0) as file:
                while part := file.read(step):
                    parts.append(part)
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)  # a hit would notice nothing
            self.whole_reads += 1
        finally:  # also what came before an error must be of one version
            words = {part[i : i + 8] for part in parts for i in range(0, len(part) - 7, 8)}
            self.versions |= words
            if len(words) > 1:
                self.problems.append(f"{path.name}: versions {sorted(words)[:4]} in one descriptor")

    def stop(self):
        self.stopping.set()
        for thread in self.threads:
            thread.join()


# Only what is written at one stroke has versions at all: in place, that is a page.
CASES = {"rename": {"small": 4_000, "middle": 320_000, "large": 12_000_000}, "in place": {"small": 4_000}}


@pytest.mark.limit(90)
@pytest.mark.parametrize("how", CASES)
def test_every_descriptor_reads_one_version(source, mount, how):
    sizes = CASES[how]
    for name, size in sizes.items():
        (source / name).write_bytes(b"%07d\n" % 0 * (size // 8))
    mounted = mount()
    readers = Readers()
    writer = subprocess.Popen([sys.executable, "-c", WRITER, source, how, *[f"{n}={s}" for n, s in sizes.items()]])
    try:
        for name in sizes:
            for step in (65_536, 1 << 20):
                readers.start(mounted / name, step)
        wait_until(lambda: readers.problems or (len(readers.versions) > 20 and readers.stale_reads > 20),
                   "readers see versions come and go", 40)
    finally:
        writer.kill()
        writer.wait()
        readers.stop()
    assert not readers.problems, readers.problems[:3]
    assert readers.whole_reads > 20
    mounted.refresh()
    assert_same(source, mounted.path)


@pytest.mark.limit(90)
def test_readers_of_files_that_do_not_change_notice_nothing_of_refreshes(source, mount):
    (source / "kept").mkdir()
    for name, size in CASES["rename"].items():
        (source / "kept" / name).write_bytes(b"%07d\n" % 0 * (size // 8))
    mounted = mount("--memory", "4M")
    readers = Readers(may_be_stale=False)
    try:
        for name in CASES["rename"]:
            readers.start(mounted / "kept" / name, 1 << 20)
        for round_number in range(15):
            make_files(source / "come and go", 30, 1000, prefix=f"round{round_number}-")
            (source / "kept" / f"new{round_number}").touch()
            if round_number % 3 == 2:
                (source / "come and go").rename(source / f"gone{round_number}")
            mounted.refresh()
        wait_until(lambda: readers.problems or readers.whole_reads > 20, "readers get through", 40)
    finally:
        readers.stop()
    assert not readers.problems, readers.problems[:3]
    assert readers.versions == {b"0000000\n"}
    assert_same(source, mounted.path)
