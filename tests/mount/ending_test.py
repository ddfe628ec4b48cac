"""How mounts end: by command, by signal, by force, and after the daemon's death."""
import os
import signal
import subprocess

import pytest

from mounts import winnow
from processes import is_mounted, run, wait_for_end, wait_until
from settings import WINNOW
from trees import make_files


@pytest.fixture
def mounted(source, mount):
    make_files(source, 5, 5000)
    return mount()


def assert_ended(mounted):
    assert wait_for_end(mounted.pid, 15), "the daemon lives on"
    assert not is_mounted(mounted.path)
    assert os.listdir(mounted.path) == []


def test_winnow_unmount_ends_mount_and_daemon(mounted):
    done = mounted.winnow("unmount", mounted.path)
    assert done.stdout.decode() == f"unmounted {mounted.path}\n"
    assert_ended(mounted)


def test_umount_8_ends_the_daemon_too(mounted):
    run(["umount", mounted.path])
    assert_ended(mounted)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_unmounts(mounted, number):
    os.kill(mounted.pid, number)
    assert_ended(mounted)


def test_a_hangup_does_not_end_the_daemon(mounted):
    os.kill(mounted.pid, signal.SIGHUP)
    os.kill(mounted.pid, signal.SIGHUP)
    assert not wait_for_end(mounted.pid, 0.3)
    assert (mounted / "f00000").stat().st_size == 5000


@pytest.fixture
def holder(mounted):
    """A process that keeps a file of the mount open."""
    process = subprocess.Popen(["sleep", "600"], stdin=open(mounted / "f00000", "rb"))
    yield process
    process.kill()
    process.wait()


def test_an_unmount_of_a_mount_in_use_is_refused_and_changes_nothing(mounted, holder):
    done = mounted.winnow("unmount", mounted.path, check=False)
    text = done.stderr.decode()
    assert done.returncode == 1 and text.count("\n") == 1
    assert "in use" in text and "--lazy" in text
    assert is_mounted(mounted.path) and mounted.is_alive()
    assert len((mounted / "f00001").read_bytes()) == 5000


def test_a_lazy_unmount_ends_when_the_last_reader_leaves(source, mounted):
    with open(mounted / "f00000", "rb") as reader:
        mounted.winnow("unmount", "--lazy", mounted.path)
        assert not is_mounted(mounted.path)
        assert mounted.is_alive()
        assert reader.read() == (source / "f00000").read_bytes()
    assert_ended(mounted)


def test_a_forced_unmount_ends_at_once(mounted, holder):
    mounted.winnow("unmount", "--force", mounted.path)
    assert_ended(mounted)


def test_a_second_signal_ends_a_mount_in_use(mounted, holder):
    os.kill(mounted.pid, signal.SIGTERM)
    wait_until(lambda: not is_mounted(mounted.path), "the first signal detaches")
    assert mounted.is_alive()
    os.kill(mounted.pid, signal.SIGTERM)
    assert_ended(mounted)
    assert holder.poll() is None, "the reader's process is its own affair"


def test_two_signals_at_once_end_a_mount_in_use(mounted, holder):
    for _ in range(2):
        os.kill(mounted.pid, signal.SIGINT)
        os.kill(mounted.pid, signal.SIGTERM)
    assert_ended(mounted)


def test_after_the_first_signal_the_last_reader_may_finish(source, mounted):
    with open(mounted / "f00002", "rb") as reader:
        os.kill(mounted.pid, signal.SIGTERM)
        wait_until(lambda: not is_mounted(mounted.path), "the signal detaches")
        assert reader.read() == (source / "f00002").read_bytes()
    assert_ended(mounted)


def test_winnow_unmount_clears_a_dead_mount(mounted):
    mounted.die()
    with pytest.raises(OSError):
        os.listdir(mounted.path)
    assert is_mounted(mounted.path)
    mounted.winnow("unmount", mounted.path)
    assert_ended(mounted)


def test_winnow_unmount_clears_a_dead_mount_that_is_in_use(mounted, holder):
    mounted.die()
    mounted.winnow("unmount", mounted.path)
    assert_ended(mounted)


def test_after_a_killed_daemon_the_next_mount_starts_from_the_snapshot(source, mounted):
    mounted.die()
    mounted.winnow("unmount", mounted.path)
    mounted.start()
    assert "as of a snapshot" in mounted.message
    assert (mounted / "f00003").read_bytes() == (source / "f00003").read_bytes()


def test_unmount_takes_any_spelling_of_the_mountpoint(place, mounted):
    (place.root / "link").symlink_to(mounted.path)
    winnow("unmount", place.root / "link" / ".." / "mnt", env=place.environment)
    assert_ended(mounted)


def test_another_filesystem_is_not_ours_to_unmount(place):
    run(["mount", "-t", "tmpfs", "none", place.mountpoint])
    done = winnow("unmount", place.mountpoint, check=False, env=place.environment)
    assert done.returncode == 1
    assert is_mounted(place.mountpoint)


@pytest.fixture
def foreground(place):
    """winnow mount --foreground, once it answers."""
    make_files(place.source, 5, 5000)
    process = subprocess.Popen([WINNOW, "mount", "--foreground", place.source, place.mountpoint, "--state-dir",
                                place.state], env=place.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout.readline().startswith(b"mounted ")
    yield process
    process.kill()
    process.wait()


def test_in_the_foreground_it_stays_until_a_signal(place, foreground):
    assert len(os.listdir(place.mountpoint)) == 5
    assert foreground.poll() is None
    foreground.send_signal(signal.SIGINT)
    _, errors = foreground.communicate(timeout=30)
    assert foreground.returncode == 0, errors
    assert not is_mounted(place.mountpoint)


def test_in_the_foreground_winnow_unmount_ends_it(place, foreground):
    winnow("unmount", place.mountpoint, env=place.environment)
    foreground.communicate(timeout=30)
    assert foreground.returncode == 0


def test_the_background_daemon_lets_go_of_the_terminal_and_folder(mounted):
    assert os.readlink(f"/proc/{mounted.pid}/cwd") == "/"
    assert {os.readlink(f"/proc/{mounted.pid}/fd/{fd}") for fd in (0, 1, 2)} == {"/dev/null"}
    assert os.getsid(mounted.pid) == mounted.pid


def test_a_pipe_reading_winnow_mount_ends_when_the_mount_answers(place, mount, source):
    """A daemon that kept its standard output would hold `winnow mount | cat` for ever."""
    mounted = mount()
    mounted.unmount()
    script = '"$0" mount "$1" "$2" --state-dir "$3" 2>&1 | cat'
    done = run(["bash", "-c", script, WINNOW, source, mounted.path, mounted.state], env=place.environment, timeout=20)
    assert done.stdout.startswith(b"mounted ")
    mounted.pid = mounted.status()["pid"]


def test_mounts_come_and_go_many_times(source, mounted):
    for i in range(10):
        (mounted / f"f{i % 5:05d}").read_bytes()
        mounted.remount()
    assert (mounted / "f00004").read_bytes() == (source / "f00004").read_bytes()


def test_a_scan_can_be_interrupted_and_leaves_nothing(place, slow_source, source):
    make_files(source, 50, 10)
    slow_source.stall("list")
    process = subprocess.Popen([WINNOW, "mount", slow_source.path, place.mountpoint, "--state-dir", place.state],
                               env=place.environment, stderr=subprocess.PIPE, stdout=subprocess.PIPE,
                               start_new_session=True)
    try:
        wait_until(lambda: slow_source.waiting() > 0, "the scan stalls")
        os.killpg(process.pid, signal.SIGINT)  # as the terminal does
        slow_source.go_on()
        _, errors = process.communicate(timeout=30)
    finally:
        slow_source.go_on()
        process.kill()
        process.wait()
    assert process.returncode in (1, -signal.SIGINT), errors
    assert not is_mounted(place.mountpoint)
    wait_until(lambda: not place.state.exists(), "no state directory is left")
