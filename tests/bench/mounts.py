"""What is measured: a plain folder, Winnow mounts and an rclone mount, with what each costs while it is read.

Every mount is made in the workspace, which unmounts and removes everything at the end, whatever happened. Only
processes that were started here are ever signalled, by their pid.
"""

import json
import os
import signal
import subprocess
import tempfile
import time

# Settings of the machine's user must not change what is measured.
CLEAN_ENVIRONMENT = {name: text for name, text in os.environ.items() if not name.startswith("WINNOW_")}


def is_mounted(path):
    with open("/proc/self/mountinfo") as mounts:
        return any(line.split()[4] == path for line in mounts)


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until(condition, seconds):
    give_up = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > give_up:
            return False
        time.sleep(0.02)
    return True


def memory_of(pid):
    """Resident megabytes: all of it, what is not backed by a file (the mapped snapshot is), and the most so far."""
    with open(f"/proc/{pid}/status") as status:
        fields = dict(line.split(":", 1) for line in status)
    return {kind: int(fields[key].split()[0]) / 1000
            for kind, key in (("rss_mb", "VmRSS"), ("anonymous_mb", "RssAnon"), ("peak_mb", "VmHWM"))}


def cpu_of(pid):
    return time.clock_gettime((~pid << 3) | 2)  # what clock_getcpuclockid(3) returns for a process


class Workspace:
    def __init__(self, parent):
        self.path = os.path.realpath(tempfile.mkdtemp(prefix="winnow-bench-", dir=parent))
        self.mounts = []
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda number, _: (_ for _ in ()).throw(SystemExit(128 + number)))

    def folder(self, name):
        path = os.path.join(self.path, name)
        os.makedirs(path, exist_ok=True)
        return path

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for mount in reversed(list(self.mounts)):
            mount.unmount()
        with open("/proc/self/mountinfo") as mounts:
            left = [line.split()[4] for line in mounts if line.split()[4].startswith(self.path + "/")]
        if left:
            raise RuntimeError(f"still mounted: {left}; {self.path} is left in place")
        subprocess.run(["rm", "-rf", self.path], check=True)


class Native:
    name = "native"
    pid = None

    def __init__(self, source):
        self.root = source

    def sample(self):
        return {}

    def settle(self):
        pass


class Mount:
    """A mounted filesystem with a daemon; registered in the workspace until it is unmounted."""

    def __init__(self, workspace, name):
        self.workspace = workspace
        self.name = name
        self.pid = None
        self.root = workspace.folder("mnt-" + name.replace(" ", "-"))
        workspace.mounts.append(self)

    def unmount(self):
        if is_mounted(self.root) and not wait_until(self.try_unmount, 10):
            subprocess.run(["umount", "-l", self.root], check=False)
        if self.pid is not None and not wait_until(lambda: not is_alive(self.pid), 30):
            os.kill(self.pid, signal.SIGKILL)
        self.workspace.mounts.remove(self)

    def try_unmount(self):
        subprocess.run(["umount", self.root], stderr=subprocess.DEVNULL, check=False)
        return not is_mounted(self.root)

    def sample(self):
        """What the daemon has used up so far."""
        return {"cpu": cpu_of(self.pid)}

    def settle(self):
        """Waits until the daemon has worked off what the last epoch left it, at most two seconds."""
        last = [cpu_of(self.pid)]

        def is_quiet():
            time.sleep(0.05)
            last.append(cpu_of(self.pid))
            return last[-1] - last[-2] < 0.001
        wait_until(is_quiet, 2)


class Winnow(Mount):
    def __init__(self, workspace, program, name, source, options=(), state_dir=None, probe=""):
        super().__init__(workspace, name)
        state_dir = state_dir or workspace.folder("state-" + name.replace(" ", "-"))
        began = time.monotonic()
        subprocess.run([program, "mount", source, self.root, "--state-dir", state_dir, *options], check=True,
                       stdout=subprocess.DEVNULL, env=CLEAN_ENVIRONMENT)
        os.stat(os.path.join(self.root, probe))
        self.answered_after = time.monotonic() - began
        self.pid = self.status()["pid"]
        # Reading status.json takes requests of its own.
        first, second = (self.status()["requests"] for _ in range(2))
        self.own_requests = {kind: second[kind] - first.get(kind, 0) for kind in second}

    def status(self):
        # Not through open(): its IOCTL would be counted among the readers'.
        fd = os.open(os.path.join(self.root, ".winnow/status.json"), os.O_RDONLY)
        try:
            return json.loads(b"".join(iter(lambda: os.read(fd, 1 << 20), b"")))
        finally:
            os.close(fd)

    def sample(self):
        status = self.status()
        return {**super().sample(), "requests": status["requests"], "opens": status["reads"]["opens"],
                "lost": status["tracking"]["lost_events"]}

    def requests_between(self, before, after):
        counts = {kind: count - before["requests"].get(kind, 0) - self.own_requests.get(kind, 0)
                  for kind, count in after["requests"].items()}
        return {kind: count for kind, count in counts.items() if count != 0}


class Rclone(Mount):
    def __init__(self, workspace, program, source):
        super().__init__(workspace, "rclone")
        self.process = subprocess.Popen(
            [program, "mount", f":local:{source}", self.root, "--vfs-cache-mode", "full", "--read-only",
             "--cache-dir", workspace.folder("rclone-cache"), "--config", os.devnull],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.pid = self.process.pid
        if not wait_until(lambda: is_mounted(self.root), 30):
            raise RuntimeError("rclone did not mount within 30 s")

    def unmount(self):
        super().unmount()
        self.process.wait(10)
