"""mount(8) and fstab, in a private mount namespace whose /sbin and /etc/fstab are made for the test."""
import json
import os

import pytest

from namespaces import PrivateShell
from processes import kill, run, wait_for_end, wait_until
from settings import WINNOW


@pytest.fixture
def world(place):
    """A shell in which mount(8) finds our helper; the machine's own folders stay as they are."""
    for name in ("upper", "work"):
        (place.root / "sbin" / name).mkdir(parents=True)
    (place.root / "fstab").touch()
    sbin = os.path.realpath("/sbin")
    shell = PrivateShell(
        ["mount", "-t", "tmpfs", "none", place.root / "sbin"],
        ["mkdir", place.root / "sbin/upper", place.root / "sbin/work"],
        ["ln", "-s", WINNOW.resolve(), place.root / "sbin/upper/mount.fuse.winnow"],
        ["ln", "-s", WINNOW.resolve(), place.root / "sbin/upper/mount.winnow"],
        ["mount", "-t", "overlay", "none", "-o",
         f"lowerdir={sbin},upperdir={place.root}/sbin/upper,workdir={place.root}/sbin/work", sbin],
        ["mount", "--bind", place.root / "fstab", "/etc/fstab"])
    pids = []
    shell.pids = pids
    yield shell
    shell.run(["umount", "-l", place.mountpoint], check=False)
    for pid in pids:
        if not wait_for_end(pid, 15):
            kill(pid)
            pytest.fail("a daemon was left behind")
    shell.close()


def status(world, place):
    found = json.loads(world.run(["cat", place.mountpoint / ".winnow/status.json"]).stdout)
    world.pids.append(found["pid"])
    return found


@pytest.mark.parametrize("kind", ["fuse.winnow", "winnow"])
def test_mount_8_mounts_by_type(place, world, kind):
    (place.source / "file").write_text("by mount(8)")
    world.run(["mount", "-t", kind, place.source, place.mountpoint, "-o",
               f"memory=16M,track=off,state_dir={place.state},uid=1234"], env=place.environment)
    found = status(world, place)
    assert found["memory"]["budget_bytes"] == 16 << 20
    assert found["tracking"]["mode"] == "off"
    assert world.run(["stat", "-c", "%u", place.mountpoint / "file"]).stdout == b"1234\n"
    assert world.run(["cat", place.mountpoint / "file"]).stdout == b"by mount(8)"


def test_an_fstab_line_mounts_and_umount_ends_it(place, world):
    (place.source / "file").write_text("by fstab")
    (place.root / "fstab").write_text(
        f"{place.source} {place.mountpoint} fuse.winnow ro,noauto,_netdev,nofail,x-systemd.automount,"
        f"allow_other,state_dir={place.state},memory=16M 0 0\n")
    world.run(["mount", place.mountpoint], env=place.environment)
    found = status(world, place)
    assert found["memory"]["budget_bytes"] == 16 << 20
    assert world.run(["cat", place.mountpoint / "file"]).stdout == b"by fstab"
    # An open that is still in the tracker's queue holds the mount for a moment.
    wait_until(lambda: world.run(["umount", place.mountpoint], check=False).returncode == 0, "umount(8) succeeds")
    assert wait_for_end(found["pid"], 15)


def test_an_fstab_line_with_defaults_mounts(place, world):
    (place.root / "fstab").write_text(
        f"{place.source} {place.mountpoint} fuse.winnow defaults,state_dir={place.state} 0 0\n")
    world.run(["mount", place.mountpoint], env=place.environment)
    assert status(world, place)["pid"] > 0


def test_mount_a_takes_our_line_too(place, world):
    (place.root / "fstab").write_text(f"{place.source} {place.mountpoint} fuse.winnow ro,state_dir={place.state} 0 0\n")
    world.run(["mount", "-a"], env=place.environment)
    assert status(world, place)["pid"] > 0


def test_an_unknown_option_is_named(place, world):
    done = world.run(["mount", "-t", "fuse.winnow", place.source, place.mountpoint, "-o",
                      f"ro,nonsense=3,state_dir={place.state}"], env=place.environment, check=False)
    assert done.returncode != 0 and b"nonsense" in done.stderr
    assert not place.state.exists()


def test_a_missing_source_fails_the_mount(place, world):
    done = world.run(["mount", "-t", "fuse.winnow", place.root / "none", place.mountpoint, "-o",
                      f"state_dir={place.state}"], env=place.environment, check=False)
    assert done.returncode != 0 and b"none" in done.stderr
    table = world.run(["cat", "/proc/self/mountinfo"]).stdout
    assert os.fsencode(place.mountpoint) + b" " not in table


def test_the_helper_ignores_what_mount_8_says_to_every_helper(place, mount):
    """Called as mount(8) calls it, with its flags before and after the paths."""
    helper = place.root / "mount.fuse.winnow"
    helper.symlink_to(WINNOW.resolve())
    run([helper, place.source, place.mountpoint, "-s", "-n", "-v", "-t", "fuse.winnow", "-o",
         f"rw,nosuid,nodev,relatime,x-initrd.mount,state_dir={place.state}"], env=place.environment)
    pid = json.loads((place.mountpoint / ".winnow/status.json").read_bytes())["pid"]
    run([WINNOW, "unmount", place.mountpoint], env=place.environment)
    assert wait_for_end(pid, 15)
