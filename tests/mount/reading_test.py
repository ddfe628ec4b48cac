"""Every way POSIX and Linux offer to read a file."""
import fcntl
import mmap
import multiprocessing
import os
import socket
import subprocess
import sys
import threading

import pytest

from kernel import birth_time
from processes import run
from trees import some_bytes

SIZE = 3_000_001
CONTENT = some_bytes(SIZE)


@pytest.fixture
def file(source, mount):
    (source / "file").write_bytes(CONTENT)
    return mount() / "file"


@pytest.fixture
def descriptor(file):
    fd = os.open(file, os.O_RDONLY)
    yield fd
    os.close(fd)


def test_mmap_shows_the_bytes(descriptor):
    with mmap.mmap(descriptor, 0, mmap.MAP_SHARED, mmap.PROT_READ) as mapped:
        assert mapped[-1:] == CONTENT[-1:]
        assert mapped[:] == CONTENT


def test_a_private_mapping_can_be_written_without_changing_the_file(descriptor):
    with mmap.mmap(descriptor, 0, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE) as mapped:
        mapped[0:4] = b"mine"
        assert mapped[4:] == CONTENT[4:]
    assert os.pread(descriptor, 4, 0) == CONTENT[:4]


def test_sendfile_sends_the_bytes(descriptor):
    ours, theirs = socket.socketpair()
    received = bytearray()

    def receive():
        while part := theirs.recv(1 << 16):
            received.extend(part)

    receiver = threading.Thread(target=receive)
    receiver.start()
    offset = 0
    while sent := os.sendfile(ours.fileno(), descriptor, offset, SIZE):
        offset += sent
    ours.close()
    receiver.join()
    assert received == CONTENT


def test_o_direct_reads_the_bytes(file):
    fd = os.open(file, os.O_RDONLY | os.O_DIRECT)
    aligned = mmap.mmap(-1, 1 << 20)  # pages are aligned as O_DIRECT wants
    read, offset = b"", 0
    while count := os.preadv(fd, [aligned], offset):
        read += aligned[:count]
        offset += count
    os.close(fd)
    assert read == CONTENT


def test_seeking_and_vectored_reads_find_any_part(file, descriptor):
    for offset in (0, 1, 4095, 4096, 131071, 1_048_575, SIZE - 1, SIZE, SIZE + 10_000):
        parts = [bytearray(3), bytearray(0), bytearray(5000)]
        count = os.preadv(descriptor, parts, offset)
        assert b"".join(parts)[:count] == CONTENT[offset : offset + 5003]
        os.lseek(descriptor, offset, os.SEEK_SET)
        assert os.read(descriptor, 7) == CONTENT[offset : offset + 7]
    assert os.lseek(descriptor, -10, os.SEEK_END) == SIZE - 10
    assert os.read(descriptor, 100) == CONTENT[-10:]


def test_reading_backwards_finds_the_bytes(descriptor):
    step = 100_003
    parts = [os.pread(descriptor, step, offset) for offset in reversed(range(0, SIZE, step))]
    assert b"".join(reversed(parts)) == CONTENT


def test_seek_data_and_seek_hole_see_one_extent(descriptor):
    # A mount shows no holes, which every program must be able to live with.
    assert os.lseek(descriptor, 5, os.SEEK_DATA) == 5
    assert os.lseek(descriptor, 5, os.SEEK_HOLE) == SIZE
    with pytest.raises(OSError) as error:
        os.lseek(descriptor, SIZE, os.SEEK_DATA)
    assert error.value.errno == 6  # ENXIO


def _sum_of(path):
    with open(path, "rb") as file:
        return file.read() == CONTENT


def test_many_processes_read_one_file_at_once(file):
    with multiprocessing.Pool(16) as pool:
        assert all(pool.map(_sum_of, [file] * 64))


def test_many_threads_of_one_descriptor_read_their_parts(descriptor):
    step = 50_000
    wrong = []

    def check(offset):
        if os.pread(descriptor, step, offset) != CONTENT[offset : offset + step]:
            wrong.append(offset)

    threads = [threading.Thread(target=check, args=[offset]) for offset in range(0, SIZE, step)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_file_over_four_gib_reads_right_everywhere(source, mount):
    size = (5 << 30) + 12_345
    marks = {0: b"first", (4 << 30) - 3: b"across the border", (4 << 30) + 777: b"behind", size - 4: b"last"}
    with open(source / "big", "wb") as big:
        big.truncate(size)
        for offset, text in marks.items():
            os.pwrite(big.fileno(), text, offset)
    mounted = mount()
    fd = os.open(mounted / "big", os.O_RDONLY)
    assert os.fstat(fd).st_size == size
    for offset, text in marks.items():
        assert os.pread(fd, len(text), offset) == text
    assert os.pread(fd, 4096, 2 << 30) == bytes(4096)
    with mmap.mmap(fd, 1 << 20, mmap.MAP_SHARED, mmap.PROT_READ, offset=4 << 30) as mapped:
        assert mapped[777:783] == b"behind"
    os.close(fd)


def test_statfs_tells_a_read_only_filesystem_of_the_snapshots_size(file):
    found = os.statvfs(file)
    assert found.f_flag & os.ST_RDONLY
    assert found.f_frsize * found.f_blocks >= SIZE
    assert found.f_bfree == found.f_bavail == 0
    assert found.f_files >= 1 and found.f_namemax == 255
    assert b"fuse.winnow" in run(["df", "-T", file]).stdout


def test_the_birth_time_is_the_sources(source, file):
    theirs = birth_time(source / "file")
    if theirs is None:
        pytest.skip("the source's filesystem keeps no birth times")
    assert birth_time(file) == theirs


def test_the_block_size_asks_for_large_reads(file):
    assert os.stat(file).st_blksize == 1 << 20


def test_flock_works_between_processes(file, descriptor):
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    taken = [sys.executable, "-c",
             "import fcntl, sys; fcntl.flock(open(sys.argv[1]), fcntl.LOCK_SH | fcntl.LOCK_NB)", file]
    assert b"BlockingIOError" in run(taken, check=False).stderr
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    run(taken)


def test_record_locks_work_between_processes(file, descriptor):
    fcntl.lockf(descriptor, fcntl.LOCK_SH, 100, 0)
    look = [sys.executable, "-c",
            "import fcntl, struct, sys; f = open(sys.argv[1]);"
            "print(struct.unpack('hhqqi4x', fcntl.fcntl(f, fcntl.F_GETLK,"
            " struct.pack('hhqqi4x', fcntl.F_WRLCK, 0, 0, 0, 0)))[4])", file]
    assert int(run(look).stdout) == os.getpid()
    fcntl.lockf(descriptor, fcntl.LOCK_UN, 100, 0)
    assert int(run(look).stdout) == 0


def test_a_descriptor_taken_over_by_a_child_reads_on(descriptor):
    os.lseek(descriptor, 1000, os.SEEK_SET)
    child = subprocess.run(["head", "-c", "100"], stdin=descriptor, capture_output=True, timeout=30)
    assert child.stdout == CONTENT[1000:1100]


def test_fsync_and_fadvise_are_harmless(descriptor):
    os.fsync(descriptor)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_WILLNEED)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    assert os.pread(descriptor, SIZE, 0) == CONTENT
