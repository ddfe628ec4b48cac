"""Running programs, waiting for conditions, and the watchdog that keeps a dead mount from hanging the run."""
import ctypes
import os
import select
import signal
import subprocess
import threading
import time

from settings import SLOWDOWN

MNT_FORCE, MNT_DETACH = 1, 2
libc = ctypes.CDLL(None, use_errno=True)


def wait_until(condition, what, seconds=15.0):
    """Polls until `condition()` is true and returns its value; fails with `what` when it never is."""
    give_up = time.monotonic() + seconds * SLOWDOWN
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < give_up, f"waited {seconds * SLOWDOWN:g} s in vain: {what}"
        time.sleep(0.01)


def run(words, check=True, timeout=60, **options):
    """Runs a program to its end, with its output as bytes."""
    done = subprocess.run(words, capture_output=True, timeout=timeout * SLOWDOWN, **options)
    if check:
        assert done.returncode == 0, f"{words} ended with {done.returncode}: {done.stderr.decode(errors='replace')}"
    return done


def as_user(uid, words):
    return ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", *words]


def is_mounted(path):
    wanted = os.fsencode(path).replace(b"\\", b"\\134").replace(b" ", b"\\040").replace(b"\n", b"\\012")
    with open("/proc/self/mountinfo", "rb") as table:
        return any(line.split()[4] == wanted for line in table)


def force_unmount(path):
    """Ends a mount whatever its state: readers get an error, and nobody is waited for."""
    while is_mounted(path) and libc.umount2(os.fsencode(path), MNT_FORCE | MNT_DETACH) == 0:
        pass


def wait_for_end(pid, seconds):
    """True if the process, child or not, has ended within that time."""
    try:
        pidfd = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([pidfd], [], [], seconds * SLOWDOWN)[0])
    finally:
        os.close(pidfd)


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


class Watchdog:
    """After `seconds`, ends every mount that was registered with it (a reader of one that hangs cannot be
    interrupted otherwise) and raises TimeoutError in the main thread; again and again if that is not enough."""

    def __init__(self):
        self.mounts = []  # objects with abort()
        self.may_raise = False  # only while a test's own code runs, not while pytest reports about it
        self.expired = None  # what to say about a time limit that nobody has told yet

    def guard(self, seconds):
        return _Guard(self, seconds * SLOWDOWN)

    def watch_phase(self):
        """Around set-up, test or tear-down. An exception out of the signal handler may come while another is
        under way and be lost with it, so the end of the phase tells it again."""
        self.may_raise = True
        yield
        self.may_raise = False
        expired, self.expired = self.expired, None
        if expired:
            raise TimeoutError(expired)


class _Guard:
    def __init__(self, watchdog, seconds):
        self.watchdog, self.seconds = watchdog, seconds
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def __enter__(self):
        signal.signal(signal.SIGALRM, self.on_alarm)
        self.thread.start()

    def __exit__(self, *error):
        self.ended.set()
        self.thread.join()

    def run(self):
        limit = self.seconds
        while not self.ended.wait(limit):
            self.watchdog.expired = f"the test took longer than {self.seconds:g} s; its mounts were ended"
            # The signal first: it waits until the main thread comes back from what the mounts' end frees it of.
            signal.pthread_kill(threading.main_thread().ident, signal.SIGALRM)
            for mount in list(self.watchdog.mounts):
                mount.abort()
            limit = 20

    def on_alarm(self, *_):
        if self.watchdog.may_raise and not self.ended.is_set():
            raise TimeoutError(self.watchdog.expired)


watchdog = Watchdog()


class Server:
    """A program that serves until the test ends; the watchdog ends it if the test does not."""

    def __init__(self, words, **options):
        self.process = subprocess.Popen(words, **options)
        watchdog.mounts.append(self)

    def abort(self):
        self.process.kill()

    def clean_up(self):
        watchdog.mounts[:] = [other for other in watchdog.mounts if other is not self]
        self.process.terminate()
        if not wait_for_end(self.process.pid, 5):
            self.process.kill()
        self.process.wait()
        if self.process.stdout:
            self.process.stdout.close()
