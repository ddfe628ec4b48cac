"""Who may read what, as whom files appear, and the mount of an ordinary user."""
import json
import os
import stat

import pytest

from kernel import idmapped_mount, kernel_at_least
from namespaces import PrivateShell
from processes import as_user, run, wait_for_end
from settings import NOBODY, WINNOW


@pytest.fixture
def owned(source):
    for name, mode, owner in (("open", 0o644, 0), ("closed", 0o600, 0), ("theirs", 0o600, NOBODY)):
        (source / name).write_text(name)
        (source / name).chmod(mode)
        os.chown(source / name, owner, owner)
    (source / "cellar").mkdir(mode=0o700)
    (source / "cellar/wine").write_text("wine")
    return source


def can_read(uid, path):
    return run(as_user(uid, ["cat", path]), check=False).returncode == 0


def test_permissions_are_checked_as_on_the_source(owned, mount):
    mounted = mount()
    expected = {"open": True, "closed": False, "theirs": True, "cellar/wine": False}
    assert {name: can_read(NOBODY, mounted / name) for name in expected} == expected
    assert {name: can_read(NOBODY, owned / name) for name in expected} == expected
    assert can_read(0, mounted / "theirs")


def test_bytes_in_the_page_cache_are_still_closed_to_others(owned, mount):
    mounted = mount()
    assert (mounted / "closed").read_text() == "closed"
    assert not can_read(NOBODY, mounted / "closed")


def test_other_users_may_read_what_root_mounts(owned, mount):
    assert can_read(NOBODY, mount() / "open")


def test_no_allow_other_keeps_other_users_out(owned, mount):
    mounted = mount("--no-allow-other")
    assert not can_read(NOBODY, mounted / "open")
    assert (mounted / "open").read_text() == "open"


def test_uid_gid_and_umask_change_what_is_shown(owned, mount):
    mounted = mount("--uid", str(NOBODY), "--gid", "1234", "--umask", "027")
    for path in (mounted.path, mounted / "open", mounted / "closed", mounted / "cellar", mounted / "cellar/wine"):
        found = path.stat()
        assert (found.st_uid, found.st_gid) == (NOBODY, 1234), path
        theirs = (owned / path.relative_to(mounted.path)).stat()
        assert stat.S_IMODE(found.st_mode) == stat.S_IMODE(theirs.st_mode) & ~0o027
    assert can_read(NOBODY, mounted / "closed"), "shown as theirs, so theirs to read"
    assert not can_read(1234, mounted / "closed")


@pytest.mark.parametrize("umask", ["8", "rwx", "77777", ""])
def test_a_umask_that_is_none_is_a_usage_error(place, umask):
    done = run([WINNOW, "mount", place.source, place.mountpoint, "--umask", umask], check=False,
               env=place.environment)
    assert done.returncode == 2 and b"umask" in done.stderr


def test_an_idmapped_mount_shifts_owners(place, owned, mount):
    if not kernel_at_least(6, 12):
        pytest.skip("FUSE has idmapped mounts since Linux 6.12")
    mounted = mount()
    shifted = place.root / "shifted"
    shifted.mkdir()
    with idmapped_mount(mounted.path, shifted, 100_000):
        assert os.stat(shifted / "open").st_uid == 100_000
        assert os.stat(shifted / "theirs").st_uid == 100_000 + NOBODY
        assert run(as_user(100_000, ["cat", shifted / "closed"])).stdout == b"closed"
        assert not can_read(NOBODY, shifted / "closed")


# An ordinary user needs a /dev/fuse open to all, which not every machine has: a private namespace gets one.

@pytest.fixture
def users_world(place):
    shell = PrivateShell(
        ["mknod", place.root / "fuse", "c", "10", "229"], ["chmod", "666", place.root / "fuse"],
        ["mount", "--bind", place.root / "fuse", "/dev/fuse"],
        # Without user_allow_other, as a fresh machine has it.
        ["mount", "--bind", "/dev/null", "/etc/fuse.conf"])
    yield shell
    shell.run(["umount", "-l", place.mountpoint], check=False)
    shell.close()


@pytest.fixture
def users_mount(place, users_world):
    """Runs `winnow mount` as nobody and returns its daemon's status."""
    for folder in (place.source, place.mountpoint):
        os.chown(folder, NOBODY, NOBODY)
    os.mkdir(place.state)
    os.chown(place.state, NOBODY, NOBODY)
    started = []

    def inside(*words, **options):
        return users_world.run(as_user(NOBODY, words), env=place.environment, **options)

    def start(*options):
        inside(WINNOW, "mount", place.source, place.mountpoint, "--state-dir", place.state, *options)
        status = json.loads(inside("cat", place.mountpoint / ".winnow/status.json").stdout)
        started.append(status["pid"])
        return status

    start.inside = inside
    yield start
    for pid in started:
        inside(WINNOW, "unmount", place.mountpoint, check=False)
        assert wait_for_end(pid, 15), "the user's daemon was left behind"


def test_an_ordinary_user_mounts_through_fusermount3(place, users_mount):
    (place.source / "file").write_text("mine")
    status = users_mount()
    assert status["tracking"]["mode"] == "open"
    assert users_mount.inside("cat", place.mountpoint / "file").stdout == b"mine"
    [line] = [line for line in users_mount.inside("cat", "/proc/mounts").stdout.decode().splitlines()
              if str(place.mountpoint) in line]
    assert " fuse.winnow " in line
    assert {"ro", "nosuid", "nodev", f"user_id={NOBODY}"} <= set(line.split()[3].split(","))


def test_opens_are_counted_in_a_users_mount(place, users_mount):
    for i in range(20):
        (place.source / f"f{i}").write_text("x")
    users_mount()
    users_mount.inside("bash", "-c", f"cat {place.mountpoint}/f* >/dev/null")
    status = json.loads(users_mount.inside("cat", place.mountpoint / ".winnow/status.json").stdout)
    assert status["reads"]["opens"] == 20


def test_a_user_unmounts_and_mounts_again_from_the_saved_snapshot(place, users_mount):
    (place.source / "file").write_text("mine")
    pid = users_mount()["pid"]
    users_mount.inside(WINNOW, "refresh", place.mountpoint)
    users_mount.inside(WINNOW, "unmount", place.mountpoint)
    assert wait_for_end(pid, 15)
    assert users_mount.inside("ls", place.mountpoint).stdout == b""
    assert users_mount()["snapshot"]["files"] == 1


def test_a_signal_ends_a_users_mount(place, users_mount):
    pid = users_mount()["pid"]
    os.kill(pid, 15)
    assert wait_for_end(pid, 15)
    assert users_mount.inside("ls", "-A", place.mountpoint).stdout == b""


def test_fanotify_demanded_by_an_ordinary_user_is_refused_with_advice(place, users_mount):
    done = users_mount.inside(WINNOW, "mount", place.source, place.mountpoint, "--state-dir", place.state,
                              "--track", "fanotify", check=False)
    assert done.returncode == 1
    assert b"--track open" in done.stderr and done.stderr.count(b"\n") == 1
    table = users_mount.inside("cat", "/proc/self/mountinfo").stdout
    assert os.fsencode(place.mountpoint) not in table


def test_allow_other_of_a_user_whom_the_machine_does_not_let_is_refused_with_advice(place, users_mount):
    done = users_mount.inside(WINNOW, "mount", place.source, place.mountpoint, "--state-dir", place.state,
                              "--allow-other", check=False)
    assert done.returncode == 1
    assert b"user_allow_other" in done.stderr and done.stderr.count(b"\n") == 1
    assert list(place.state.iterdir()) == []


def test_what_a_user_may_not_read_is_left_out_and_counted(place, users_mount):
    (place.source / "mine").write_text("mine")
    (place.source / "closed").mkdir(mode=0o700)
    (place.source / "closed/file").write_text("root's")
    status = users_mount()
    assert status["snapshot"]["left_out"]["unreadable"] == 1
    assert users_mount.inside("cat", place.mountpoint / "mine").stdout == b"mine"
    assert users_mount.inside("cat", place.mountpoint / "closed/file", check=False).returncode != 0
