"""Commands in a mount namespace of their own, where the machine's /dev, /sbin and fstab can be made to look
otherwise without anybody else seeing it."""
import os
import shlex
import subprocess

from processes import kill, run, watchdog


def private_script(*lines):
    """A shell command that runs `lines` in a private mount namespace; each is a list of words or a string."""
    script = " && ".join(line if isinstance(line, str) else shlex.join(map(str, line)) for line in lines)
    return ["unshare", "--mount", "--propagation", "private", "bash", "-c", script]


def run_privately(*lines, **options):
    return run(private_script(*lines), **options)


class PrivateShell:
    """A shell that stays in a namespace of its own, made ready by `lines`; run() works inside it."""

    def __init__(self, *lines):
        self.process = subprocess.Popen(private_script(*lines, "echo ready", "exec cat"), stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)
        assert self.process.stdout.readline() == b"ready\n", "the private namespace could not be made"
        self.namespace = os.readlink(f"/proc/{self.process.pid}/ns/mnt")
        watchdog.mounts.append(self)

    def inside(self, words):
        return ["nsenter", f"--mount=/proc/{self.process.pid}/ns/mnt", *map(str, words)]

    def run(self, words, **options):
        return run(self.inside(words), **options)

    def abort(self):
        """Ends whatever runs inside, daemons too: their mounts can be reached from nowhere else."""
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if os.readlink(f"/proc/{pid}/ns/mnt") == self.namespace:
                    kill(int(pid))
            except OSError:
                pass  # ended meanwhile

    def close(self):
        watchdog.mounts[:] = [other for other in watchdog.mounts if other is not self]
        self.process.stdin.close()
        self.process.wait()
