"""A Winnow mount, and a slow source, as tests see them."""
import contextlib
import json
import os
import signal
import subprocess
from collections import Counter

from processes import (as_user, force_unmount, is_mounted, kill, run, wait_for_end, wait_until, watchdog)
from settings import SUPPORT, WINNOW


def winnow(*words, user=None, program=WINNOW, **options):
    """Runs the winnow command; `user` is a uid to run it as."""
    words = [str(program), *[os.fspath(word) for word in words]]
    return run(words if user is None else as_user(user, words), **options)


@contextlib.contextmanager
def nearly_full_disk(place):
    """A file system of 64 MiB with room for 4."""
    path = place.root / "small"
    path.mkdir()
    run(["mount", "-t", "tmpfs", "-o", "size=64M", "none", path])
    try:
        (path / "others").write_bytes(bytes(60 << 20))
        yield path
    finally:
        run(["umount", "-l", path])


class Mount:
    def __init__(self, place, source, options, mountpoint=None, state=None, user=None, environment=None,
                 program=WINNOW):
        self.source = source
        self.path = mountpoint or place.mountpoint
        self.state = state or place.state
        self.options, self.user, self.environment = options, user, environment or place.environment
        self.program = program  # that mounts
        self.pid = None

    def start(self):
        watchdog.mounts.append(self)
        done = self.winnow("mount", self.source, self.path, "--state-dir", self.state, *self.options,
                           program=self.program)
        self.message = done.stdout.decode(errors="replace")
        assert done.stderr == b"", done.stderr.decode(errors="replace")
        self.pid = self.status()["pid"]
        return self

    def winnow(self, *words, **options):
        return winnow(*words, user=self.user, env=self.environment, **options)

    def __truediv__(self, name):
        return self.path / name

    def status(self):
        path = self.path / ".winnow/status.json"
        if self.user is None:
            return json.loads(path.read_bytes())
        return json.loads(run(as_user(self.user, ["cat", path])).stdout)  # root may not look at a user's mount

    def requests(self):
        """By kind. Without FORGETs: nobody waits for them, and the kernel sends those of earlier questions
        whenever it likes."""
        kinds = Counter(self.status()["requests"])
        return kinds - Counter({kind: kinds[kind] for kind in ("forget", "batch_forget")})

    def requests_of(self, action):
        """The requests `action` costs, by kind; those that asking for the count costs are taken off."""
        self.requests()
        first = self.requests()
        before = self.requests()
        action()
        return self.requests() - before - (before - first)

    def cheapest(self, action, times=3):
        """The requests of the cheapest of several goes: a machine short of memory may take pages away."""
        return min((self.requests_of(action) for _ in range(times)), key=Counter.total)

    def refresh(self):
        return json.loads(self.winnow("refresh", "--json", self.path).stdout)

    def unmount(self, *options):
        self.winnow("unmount", *options, self.path)
        assert not is_mounted(self.path)
        assert wait_for_end(self.pid, 15), f"daemon {self.pid} lives on after winnow unmount"

    def remount(self):
        self.unmount()
        return self.start()

    def is_alive(self):
        return not wait_for_end(self.pid, 0)

    def worker(self):
        return self.status()["worker_pid"]

    def die(self):
        """Holder and worker end at once, as with a machine's last breath: the mount is dead."""
        worker = self.worker()
        os.kill(self.pid, signal.SIGSTOP)  # else each would replace the other
        kill(worker)
        kill(self.pid)
        assert wait_for_end(worker, 15) and wait_for_end(self.pid, 15)

    def abort(self):
        force_unmount(self.path)
        if self.pid:
            kill(self.pid)

    def clean_up(self):
        """Returns what was wrong about the end, or nothing."""
        watchdog.mounts[:] = [other for other in watchdog.mounts if other is not self]
        problem = None
        if is_mounted(self.path):
            done = self.winnow("unmount", self.path, check=False)
            if done.returncode != 0 or is_mounted(self.path):
                problem = f"winnow unmount failed: {done.stderr.decode(errors='replace')}"
                force_unmount(self.path)
        if self.pid and not wait_for_end(self.pid, 15):
            problem = problem or f"daemon {self.pid} was left behind"
            kill(self.pid)
        return problem


class SlowSource:
    """slowfs over a folder; see tests/support/slowfs.cpp."""

    def __init__(self, folder, control, path):
        self.folder, self.control, self.path = folder, control, path
        control.mkdir()
        path.mkdir()
        watchdog.mounts.append(self)
        self.process = subprocess.Popen([SUPPORT / "slowfs", folder, control, path])
        wait_until(lambda: is_mounted(path), "slowfs mounts")

    def stall(self, operations="read"):
        (self.control / "stall.new").write_text(operations)
        (self.control / "stall.new").rename(self.control / "stall")

    def go_on(self):
        (self.control / "stall").unlink(missing_ok=True)

    def fail_next_reads(self, count):
        (self.control / "fail.new").write_text(f"{count}\n")
        (self.control / "fail.new").rename(self.control / "fail")

    def waiting(self):
        file = self.control / "waiting"
        return int(file.read_text()) if file.exists() else 0

    def abort(self):
        self.go_on()
        force_unmount(self.path)
        self.process.kill()

    def clean_up(self):
        watchdog.mounts[:] = [other for other in watchdog.mounts if other is not self]
        self.abort()
        self.process.wait()
