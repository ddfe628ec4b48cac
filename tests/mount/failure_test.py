"""Starts that cannot succeed: exit code 1, one sentence that says what to do, and nothing left behind."""
import os
import shutil
import subprocess

import pytest

from mounts import winnow
from namespaces import PrivateShell
from processes import as_user, is_mounted, run
from settings import NOBODY, WINNOW
from trees import make_files


def processes_about(place):
    """Processes with this test's folder on their command line."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read()
        except OSError:
            continue
        if os.fsencode(place.root) in words and b"winnow" in words.split(b"\0")[0]:
            found.append(words)
    return found


def assert_one_sentence(done, *advice, code=1):
    text = done.stderr.decode(errors="replace")
    assert done.returncode == code, text
    assert text.count("\n") == 1 and text.endswith("\n"), text
    assert text.startswith("winnow: "), text
    assert any(word in text for word in advice), f"{text!r} does not tell what to do: {advice}"
    assert done.stdout == b""


class Attempt:
    """Runs winnow mount, expecting it to fail and to leave no trace."""

    def __init__(self, place):
        self.place = place

    def __call__(self, *advice, source=None, mountpoint=None, options=(), shell=None, user=None):
        place = self.place
        words = [WINNOW, "mount", source or place.source, mountpoint or place.mountpoint, "--state-dir", place.state,
                 *options]
        words = [os.fspath(word) for word in (words if user is None else as_user(user, words))]
        state_was_there = place.state.exists()
        before = snapshot_of_tree(place.root)
        done = run(words if shell is None else shell.inside(words), check=False, env=place.environment)
        assert_one_sentence(done, *advice)
        assert state_was_there or not place.state.exists(), "a state directory was left behind"
        assert snapshot_of_tree(place.root) == before, "files were left behind"
        assert not processes_about(place)
        return done.stderr.decode(errors="replace")


def snapshot_of_tree(folder):
    return sorted(os.path.join(path, name) for path, folders, files in os.walk(folder) for name in folders + files
                  if not name.startswith("sanitizer"))


@pytest.fixture
def attempt(place):
    make_files(place.source, 3, 100)
    return Attempt(place)


def test_a_missing_source(place, attempt):
    assert "nowhere" in attempt("exists", source=place.root / "nowhere")


def test_a_source_that_is_a_file(place, attempt):
    (place.root / "file").touch()
    attempt("folder", source=place.root / "file")


def test_an_unreadable_source(place, attempt):
    """Root may read everything, so an ordinary user tries."""
    place.source.chmod(0o700)
    os.chown(place.mountpoint, NOBODY, NOBODY)
    run_as = place.root / "theirs"
    run_as.mkdir()
    os.chown(run_as, NOBODY, NOBODY)
    place.state = run_as / "state"
    attempt("permission", "Permission", "may read", user=NOBODY)


def test_a_missing_mountpoint(place, attempt):
    assert "mkdir" in attempt("mkdir", mountpoint=place.root / "nowhere")


def test_a_mountpoint_that_is_not_empty(place, attempt):
    (place.mountpoint / "something").touch()
    attempt("empty folder")


def test_a_mountpoint_that_is_not_a_folder(place, attempt):
    (place.root / "file").touch()
    attempt("folder", mountpoint=place.root / "file")


def test_a_mountpoint_inside_the_source(place, attempt):
    (place.source / "inside").mkdir()
    attempt("mount elsewhere", mountpoint=place.source / "inside")


def test_a_source_inside_the_mountpoint(place, attempt):
    (place.mountpoint / "inside").mkdir()
    attempt("mount elsewhere", source=place.mountpoint / "inside")


def test_a_source_that_is_the_mountpoint(place, attempt):
    attempt("mount elsewhere", source=place.mountpoint)


def test_a_mountpoint_inside_the_source_by_way_of_a_link(place, attempt):
    (place.source / "inside").mkdir()
    (place.root / "link").symlink_to(place.source / "inside")
    attempt("mount elsewhere", mountpoint=place.root / "link")


def test_a_mountpoint_that_is_mounted_already(place, attempt, mount):
    mounted = mount()
    other_state = place.root / "other"
    done = winnow("mount", place.source, place.mountpoint, "--state-dir", other_state, check=False,
                  env=place.environment)
    assert_one_sentence(done, "winnow unmount")
    assert not other_state.exists()
    assert len(os.listdir(mounted.path)) == 3


def test_a_mountpoint_with_a_dead_mount_of_ours_is_cleared(source, mount):
    make_files(source, 3, 10)
    mounted = mount()
    mounted.die()
    mounted.start()
    assert len(os.listdir(mounted.path)) == 3


def test_two_daemons_on_one_state_directory(place, attempt, mount):
    mounted = mount()
    other = place.root / "other-mnt"
    other.mkdir()
    done = winnow("mount", place.source, other, "--state-dir", place.state, check=False, env=place.environment)
    assert_one_sentence(done, "--state-dir")
    assert str(mounted.pid) in done.stderr.decode()
    assert not is_mounted(other)
    assert len(os.listdir(mounted.path)) == 3


@pytest.mark.parametrize("memory", ["100T", "101%", "1000%"])
def test_a_budget_larger_than_the_machine(attempt, memory):
    assert "--memory" in attempt("less", "percentage", options=["--memory", memory])


def test_a_budget_too_small_to_be_one(attempt):
    attempt("at least", options=["--memory", "100"])


@pytest.mark.parametrize("damage", ["empty", "text", "cut", "flipped", "newer"])
def test_a_corrupt_state_file(place, attempt, mount, damage):
    mounted = mount()
    mounted.unmount()
    catalogue = place.state / "catalogue"
    content = bytearray(catalogue.read_bytes())
    if damage == "empty":
        content = b""
    elif damage == "text":
        content = b"this is not a catalogue\n" * 50
    elif damage == "cut":
        content = content[: len(content) // 2]
    elif damage == "flipped":
        content[len(content) // 2] ^= 0xFF
    else:  # another version of the format, or another program's file
        content[8:12] = b"\xff\xff\xff\x7f"
    catalogue.write_bytes(content)
    text = attempt("remove", "delete", "--state-dir", "rm ")
    assert str(place.state) in text
    assert catalogue.read_bytes() == content, "the damaged file is evidence, not ours to remove"


def test_a_state_directory_of_another_source(place, attempt, mount):
    mount().unmount()
    other = place.root / "other"
    other.mkdir()
    assert str(place.source) in attempt("--state-dir", source=other)


def test_a_state_directory_that_cannot_be_made(place, attempt):
    place.state = place.root / "file" / "state"
    (place.root / "file").touch()
    attempt("--state-dir")


def test_a_state_directory_inside_the_mountpoint(place, attempt):
    place.state = place.mountpoint / "state"
    attempt("another", "elsewhere")


def test_a_state_directory_inside_the_source(place, attempt):
    """It would show itself in the mount and change with every refresh."""
    place.state = place.source / "state"
    attempt("another", "elsewhere", "--state-dir")


@pytest.fixture
def private(place):
    shells = []

    def start(*lines):
        shells.append(PrivateShell(*lines))
        return shells[-1]

    yield start
    for shell in shells:
        shell.close()


def test_a_machine_without_dev_fuse(place, attempt, private):
    (place.root / "dev").mkdir()
    shell = private(["mount", "--bind", place.root / "dev", "/dev"])
    assert "/dev/fuse" in attempt("modprobe", "container", shell=shell)


def test_a_dev_fuse_that_may_not_be_opened(place, attempt, private):
    """A file without its device behind it, as in a container that was not given the device."""
    (place.root / "nodev").mkdir()
    shell = private(["mount", "-t", "tmpfs", "-o", "nodev", "none", place.root / "nodev"],
                    ["mknod", place.root / "nodev/fuse", "c", "10", "229"],
                    ["mount", "--bind", place.root / "nodev/fuse", "/dev/fuse"])
    assert "/dev/fuse" in attempt("run as", "container", shell=shell)
    shutil.rmtree(place.root / "nodev")


def test_a_root_without_the_right_to_mount(place, attempt):
    words = ["setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin", WINNOW, "mount", place.source,
             place.mountpoint, "--state-dir", place.state]
    done = run([os.fspath(word) for word in words], check=False, env=place.environment)
    assert_one_sentence(done, "CAP_SYS_ADMIN", "fusermount3")
    assert not is_mounted(place.mountpoint) and not place.state.exists()


def test_an_ordinary_user_without_access_to_fuse(place, attempt):
    if os.stat("/dev/fuse").st_mode & 0o006 == 0o006:
        pytest.skip("/dev/fuse is open to all here")
    os.chown(place.mountpoint, NOBODY, NOBODY)
    (place.root / "theirs").mkdir()
    os.chown(place.root / "theirs", NOBODY, NOBODY)
    place.state = place.root / "theirs/state"
    attempt("root", "user", user=NOBODY)


def test_an_ordinary_user_without_fusermount3(place, attempt):
    os.chown(place.mountpoint, NOBODY, NOBODY)
    (place.root / "theirs").mkdir()
    os.chown(place.root / "theirs", NOBODY, NOBODY)
    place.state = place.root / "theirs/state"
    place.environment["PATH"] = "/nowhere"
    setpriv = shutil.which("setpriv")
    words = as_user(NOBODY, [str(WINNOW), "mount", str(place.source), str(place.mountpoint), "--state-dir",
                             str(place.state)])
    done = subprocess.run([setpriv, *words[1:]], capture_output=True, env=place.environment, timeout=60)
    assert_one_sentence(done, "fuse3")
    assert not place.state.exists()


def test_a_foreground_start_that_fails_says_the_same(attempt):
    attempt("at least", options=["--memory", "100", "--foreground"])
    attempt("mkdir", mountpoint=attempt.place.root / "nowhere", options=["--foreground"])


def test_unmounting_what_is_not_mounted(place):
    done = winnow("unmount", place.mountpoint, check=False, env=place.environment)
    assert_one_sentence(done, "winnow status")


@pytest.mark.parametrize("command", ["refresh", "status"])
def test_asking_where_nothing_is_mounted(place, command):
    done = winnow(command, place.mountpoint, check=False, env=place.environment)
    assert_one_sentence(done, "winnow status")


@pytest.mark.parametrize("command", ["refresh", "status"])
def test_asking_a_dead_mount(place, mount, command):
    mounted = mount()
    mounted.die()
    done = mounted.winnow(command, mounted.path, check=False)
    assert_one_sentence(done, "winnow unmount")
    mounted.winnow("unmount", mounted.path)


def test_a_full_state_directory(place, attempt, private):
    make_files(place.source / "many", 3000, 1)
    place.state.mkdir()
    shell = private(["mount", "-t", "tmpfs", "-o", "size=64k", "none", place.state])
    attempt("free space", "--state-dir", shell=shell)


def test_a_source_whose_storage_is_gone(attempt, slow_source):
    slow_source.process.kill()
    slow_source.process.wait()
    attempt("try again", "storage", "exists", "connected", source=slow_source.path)
