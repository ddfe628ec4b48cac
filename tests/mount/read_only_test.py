"""Whatever would write gets EROFS, and the kernel is told to expect nothing else."""
import errno
import os

import pytest

from processes import as_user, libc, run
from settings import NOBODY


@pytest.fixture
def mounted(source, mount):
    (source / "file").write_text("content")
    (source / "folder").mkdir()
    (source / "folder/inside").write_text("x")
    (source / "link").symlink_to("file")
    return mount()


WRITES = {
    "open for writing": lambda top: os.open(top / "file", os.O_WRONLY),
    "open for both": lambda top: os.open(top / "file", os.O_RDWR),
    "open and truncate": lambda top: os.open(top / "file", os.O_WRONLY | os.O_TRUNC),
    "append": lambda top: os.open(top / "file", os.O_WRONLY | os.O_APPEND),
    "create": lambda top: os.open(top / "new", os.O_CREAT | os.O_WRONLY),
    "create exclusively": lambda top: os.open(top / "new", os.O_CREAT | os.O_EXCL | os.O_WRONLY),
    "create without a name": lambda top: os.open(top, os.O_TMPFILE | os.O_WRONLY),
    "mkdir": lambda top: os.mkdir(top / "new"),
    "rmdir": lambda top: os.rmdir(top / "folder"),
    "unlink": lambda top: os.unlink(top / "file"),
    "rename": lambda top: os.rename(top / "file", top / "renamed"),
    "replace": lambda top: os.replace(top / "file", top / "folder/inside"),
    "chmod": lambda top: os.chmod(top / "file", 0o777),
    "chown": lambda top: os.chown(top / "file", 1, 1),
    "truncate": lambda top: os.truncate(top / "file", 0),
    "setxattr": lambda top: os.setxattr(top / "file", "user.x", b"1"),
    "setxattr of ours": lambda top: os.setxattr(top / "file", "user.winnow", b"1"),
    "removexattr": lambda top: os.removexattr(top / "file", "user.winnow"),
    "symlink": lambda top: os.symlink("file", top / "new"),
    "link": lambda top: os.link(top / "file", top / "new"),
    "mkfifo": lambda top: os.mkfifo(top / "new"),
    "utime": lambda top: os.utime(top / "file"),
    "utime of a link": lambda top: os.utime(top / "link", follow_symlinks=False),
    "create in .winnow": lambda top: os.open(top / ".winnow/new", os.O_CREAT | os.O_WRONLY),
    "write status.json": lambda top: os.open(top / ".winnow/status.json", os.O_WRONLY),
    "unlink status.json": lambda top: os.unlink(top / ".winnow/status.json"),
    "create in the exact tree": lambda top: os.mkdir(top / ".winnow/exact/new"),
}


@pytest.mark.parametrize("write", WRITES)
def test_a_write_is_refused_with_erofs(source, mounted, write):
    with pytest.raises(OSError) as error:
        WRITES[write](mounted.path)
    assert error.value.errno == errno.EROFS
    assert (source / "file").read_text() == "content"
    assert sorted(os.listdir(mounted.path)) == ["file", "folder", "link"]


MS_NOSUID, MS_NODEV, MS_REMOUNT = 2, 4, 32


@pytest.mark.parametrize("write", WRITES)
def test_a_mount_remounted_for_writing_refuses_still(source, mounted, write):
    """Root can take the kernel's read-only flag away; then the daemon itself refuses."""
    flags = MS_REMOUNT | MS_NOSUID | MS_NODEV
    assert libc.mount(b"none", os.fsencode(mounted.path), b"fuse.winnow", flags, None) == 0
    with pytest.raises(OSError) as error:
        fd = WRITES[write](mounted.path)  # without OPEN, the kernel asks only when it comes to writing
        try:
            os.write(fd, b"x")
        finally:
            os.close(fd)
    assert error.value.errno in (errno.EROFS, errno.EOPNOTSUPP)  # the latter where FUSE has no such request
    assert (source / "file").read_text() == "content"
    assert (mounted / "file").read_text() == "content"


def test_the_kernel_shows_a_read_only_mount_without_suid_and_devices(source, mounted):
    with open("/proc/mounts") as table:
        [line] = [words for words in map(str.split, table) if words[1] == str(mounted.path)]
    device, _, kind, options, *_ = line
    assert (device, kind) == (str(source), "fuse.winnow")
    assert {"ro", "nosuid", "nodev", "default_permissions"} <= set(options.split(","))


def test_a_suid_program_of_the_source_gives_no_rights(place, source, mount):
    (source / "id").write_bytes(open("/usr/bin/id", "rb").read())
    (source / "id").chmod(0o4755)
    mounted = mount()
    assert (mounted / "id").stat().st_mode & 0o7777 == 0o4755
    assert run(as_user(NOBODY, [mounted / "id", "-u"])).stdout.strip() == str(NOBODY).encode()


def test_access_tells_what_may_be_done(mounted):
    path = mounted / "file"
    assert os.access(path, os.R_OK) and os.access(path, os.F_OK)
    assert not os.access(path, os.W_OK)
    assert not os.access(path, os.X_OK)
    assert os.access(mounted / "folder", os.X_OK)
    assert not os.access(mounted / "missing", os.F_OK)
