"""Files that change behind the snapshot: noticed when fetched, never mixed, right at the next open."""
import errno
import os
import signal
import subprocess
import sys

import pytest

from kernel import cached_bytes
from processes import run, wait_until
from trees import assert_same

STALE = {errno.ESTALE, errno.EIO}
OLD, NEW = b"o" * 20_000, b"n" * 20_000


def replace_by_rename(path):
    path.with_name("temporary").write_bytes(NEW)
    path.with_name("temporary").rename(path)


def rewrite_in_place(path):
    with open(path, "r+b") as file:
        file.write(NEW)


def rewrite_and_restore_mtime(path):
    before = path.stat()
    rewrite_in_place(path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def replace_and_restore_mtime(path):
    before = path.stat()
    replace_by_rename(path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def truncate(path):
    os.truncate(path, 7000)


def grow(path):
    with open(path, "ab") as file:
        file.write(NEW)


def empty(path):
    os.truncate(path, 0)


TELLING_CHANGES = [replace_by_rename, rewrite_in_place, replace_and_restore_mtime, truncate, grow, empty]
CHANGES = [*TELLING_CHANGES, rewrite_and_restore_mtime]


@pytest.fixture
def mounted(source, mount):
    (source / "file").write_bytes(OLD)
    (source / "other").write_bytes(b"unchanged")
    return mount()


def read_error(read):
    with pytest.raises(OSError) as error:
        read()
    return error.value.errno


def drop_pages(mounted, name):
    """So that no page of the old version helps the next read out."""
    wait_until(lambda: cached_bytes(mounted / name) >= len(OLD), "all of what was fetched is pushed")
    fd = os.open(mounted / name, os.O_RDONLY)

    def dropped():
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        return not cached_bytes(mounted / name)

    wait_until(dropped, "the pages go")
    os.close(fd)


@pytest.mark.parametrize("change", TELLING_CHANGES, ids=lambda change: change.__name__)
def test_a_changed_file_reads_stale_once_and_then_new(source, mounted, change):
    change(source / "file")
    assert read_error((mounted / "file").read_bytes) == errno.ESTALE
    assert (mounted / "file").read_bytes() == (source / "file").read_bytes()
    assert mounted.status()["reads"]["stale"] == 1
    mounted.refresh()
    assert_same(source, mounted.path)


def test_a_file_never_read_whose_ctime_alone_moved_is_stale_or_wholly_new(source, mounted):
    """Nothing tells it from a chmod, and no byte of the old version was ever given out."""
    rewrite_and_restore_mtime(source / "file")
    try:
        assert (mounted / "file").read_bytes() == NEW
    except OSError as error:
        assert error.errno == errno.ESTALE
    assert (mounted / "file").read_bytes() == NEW


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_an_open_descriptor_never_reads_two_versions(source, mounted, change):
    """The file is opened and half of it read before it changes; what else that descriptor reads is old or an
    error, also while and after others see the new file."""
    fd = os.open(mounted / "file", os.O_RDONLY)
    try:
        assert os.pread(fd, 4096, 0) == OLD[:4096]
        drop_pages(mounted, "file")
        change(source / "file")
        assert read_error(lambda: os.pread(fd, 20_000, 0)) in STALE
        assert (mounted / "file").read_bytes() == (source / "file").read_bytes()
        assert read_error(lambda: os.pread(fd, 4096, 8192)) in STALE
    finally:
        os.close(fd)


def test_cached_pages_of_the_old_version_may_be_read_on_but_never_mixed(source, mounted):
    fd = os.open(mounted / "file", os.O_RDONLY)
    try:
        assert os.pread(fd, 20_000, 0) == OLD
        replace_by_rename(source / "file")
        mounted.refresh()
        assert (mounted / "file").read_bytes() == NEW
        try:
            assert os.pread(fd, 20_000, 0) == OLD
        except OSError as error:
            assert error.errno in STALE
    finally:
        os.close(fd)


MAPPED_READER = """
import mmap, os, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
mapped = mmap.mmap(fd, 0, mmap.MAP_SHARED, mmap.PROT_READ)
print("mapped", flush=True)
sys.stdin.readline()
print(set(mapped[:]), flush=True)
"""


@pytest.mark.parametrize("change", TELLING_CHANGES, ids=lambda change: change.__name__)
def test_a_mapping_of_a_changed_file_ends_in_sigbus(source, mounted, change):
    reader = subprocess.Popen([sys.executable, "-c", MAPPED_READER, mounted / "file"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE)
    assert reader.stdout.readline() == b"mapped\n"
    change(source / "file")
    output, _ = reader.communicate(b"\n")
    assert reader.returncode == -signal.SIGBUS, output
    assert (mounted / "file").read_bytes() == (source / "file").read_bytes()


def test_a_removed_file_reads_stale_and_is_then_missing(source, mounted):
    os.listdir(mounted.path)
    (source / "file").unlink()
    assert read_error((mounted / "file").read_bytes) == errno.ESTALE
    assert read_error((mounted / "file").read_bytes) == errno.ENOENT
    assert os.listdir(mounted.path) == ["other"]


def test_a_file_replaced_by_a_folder_reads_stale_and_the_next_refresh_shows_the_folder(source, mounted):
    (source / "file").unlink()
    (source / "file").mkdir()
    (source / "file/inside").write_text("x")
    assert read_error((mounted / "file").read_bytes) == errno.ESTALE
    assert read_error((mounted / "file").read_bytes) in (errno.ENOENT, errno.EISDIR)
    mounted.refresh()
    assert (mounted / "file/inside").read_text() == "x"


def test_a_file_replaced_by_a_symlink_never_shows_what_that_points_to(place, source, mounted):
    (place.root / "secret").write_bytes(NEW)
    (source / "file").unlink()
    (source / "file").symlink_to(place.root / "secret")
    for _ in range(2):
        assert read_error((mounted / "file").read_bytes) in (errno.ESTALE, errno.ENOENT)


def test_a_folder_moved_away_makes_its_files_stale(source, mount):
    (source / "folder").mkdir()
    (source / "folder/file").write_bytes(OLD)
    mounted = mount()
    os.listdir(mounted / "folder")
    (source / "folder").rename(source / "elsewhere")
    assert read_error((mounted / "folder/file").read_bytes) == errno.ESTALE
    mounted.refresh()
    assert (mounted / "elsewhere/file").read_bytes() == OLD


def test_a_change_of_mode_alone_needs_no_stale_read(source, mounted):
    (source / "file").chmod(0o600)
    assert (mounted / "file").read_bytes() == OLD


def test_all_names_of_a_changed_file_lead_to_the_new_one(source, mount):
    (source / "first").write_bytes(OLD)
    os.link(source / "first", source / "second")
    mounted = mount()
    assert os.stat(mounted / "first").st_ino == os.stat(mounted / "second").st_ino
    rewrite_in_place(source / "first")
    assert read_error((mounted / "second").read_bytes) == errno.ESTALE
    assert (mounted / "first").read_bytes() == NEW
    assert (mounted / "second").read_bytes() == NEW
    assert os.stat(mounted / "first").st_ino == os.stat(mounted / "second").st_ino


def test_a_program_that_opens_again_succeeds(source, mounted):
    replace_by_rename(source / "file")
    script = "cat file 2>/dev/null || cat file"
    assert run(["bash", "-c", script], cwd=mounted.path).stdout == NEW
