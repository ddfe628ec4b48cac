"""Readers that compare every byte while somebody does the worst to the daemon."""
import hashlib
import multiprocessing
import os
import random
import shutil
import signal
import socket
import statistics
import time
from collections import Counter

from processes import kill, wait_until
from settings import WINNOW


def make_data(folder, seed=3, folders=10, files=60, big=12 << 20):
    """Files of many sizes; {relative path: digest}."""
    rng = random.Random(seed)
    digests = {}

    def write(path, size):
        content = rng.randbytes(size)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        digests[str(path.relative_to(folder))] = hashlib.md5(content).digest()

    for d in range(folders):
        for i in range(files):
            write(folder / f"d{d}" / f"f{i:03d}", rng.choice([2000, 30_000, 200_000] if i % 10 == 0 else [2000, 30_000]))
    write(folder / "big", big)
    return digests


def _read_until(stop, path, digests, seed, results):
    rng = random.Random(seed)
    names = list(digests)
    reads, problems, times = 0, [], []
    while not stop.is_set():
        name = rng.choice(names)
        began = time.monotonic()
        try:
            if rng.random() < 0.1:
                os.listdir(os.path.join(path, os.path.dirname(name)))
            with open(os.path.join(path, name), "rb") as file:
                content = file.read()
            if hashlib.md5(content).digest() != digests[name]:
                problems.append(f"{name}: other bytes, {len(content)} of them")
        except OSError as error:
            problems.append(f"{name}: {error}")
        times.append((began, time.monotonic() - began))
        reads += 1
    results.put((reads, problems, [one for one in times if one[1] > 0.003]))


class Readers:
    """Processes that read at random until told to stop; use as a context, then look at what they saw."""

    def __init__(self, path, digests, count=3):
        self.stop = multiprocessing.Event()
        self.results = multiprocessing.Queue()
        self.processes = [multiprocessing.Process(target=_read_until,
                                                  args=(self.stop, str(path), digests, seed, self.results), daemon=True)
                          for seed in range(count)]

    def __enter__(self):
        for process in self.processes:
            process.start()
        return self

    def __exit__(self, *error):
        self.stop.set()
        try:
            seen = [self.results.get(timeout=50) for _ in self.processes]
        finally:
            for process in self.processes:
                process.join(1)
                process.kill()
        self.reads = sum(reads for reads, _, _ in seen)
        self.problems = [problem for _, problems, _ in seen for problem in problems]
        self.slow = [one for _, _, slow in seen for one in slow]

    def stall_after(self, moment, until):
        """The longest read that was under way at `moment` or began before `until`."""
        return max((took for began, took in self.slow if began + took > moment and began < until), default=0.0)

    def assert_nothing_failed(self):
        assert self.reads > 0 and self.problems == [], (len(self.problems), self.problems[:5])


def median_stall(readers, moments):
    ends = moments[1:] + [moments[-1] + 5]
    return statistics.median(readers.stall_after(moment, end) for moment, end in zip(moments, ends))


def survival(mounted):
    return mounted.status()["survival"]


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


def worker_of(holder):
    """The worker's pid without asking the mount; none while there is none."""
    return next(reversed(children(holder)), None)


def kill_worker(holder, number=signal.SIGKILL):
    """Kills whatever worker there is, also one that only starts."""
    pid = wait_until(lambda: worker_of(holder), "there is a worker")
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass
    return pid


def wait_for_next_worker(mounted, before):
    """The mount answers again, by another worker."""
    return wait_until(lambda: mounted.worker() not in (before, 0) and mounted.worker(), "another worker serves")


def is_uninterruptible(pid):
    """Whether a thread of the process is in state D."""
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/stat") as file:
                if file.read().rpartition(")")[2].split()[0] == "D":
                    return True
    except OSError:
        pass
    return False


def log_of(mounted):
    return (mounted.state / "winnow.log").read_text()


def send_control(mounted, text):
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
        line.connect(mounted.status()["control_socket"])
        line.sendall(text.encode() + b"\n")
        line.shutdown(socket.SHUT_WR)
        assert b'"ok":true' in line.recv(4096).replace(b" ", b"")


class TracedWorkers:
    """Takes the place of a mount's program, so that the next worker starts under strace; later ones do not."""

    def __init__(self, folder):
        folder.mkdir()
        for program in ("winnow", "winnow-holder"):
            shutil.copy(WINNOW.parent / program, folder / program)
        self.program, self.plan = folder / "winnow", folder / "winnow.plan"

    WRAPPER = """#!/bin/sh
if mv "$0.plan" "$0.taken" 2>/dev/null; then exec strace -D -f -qq $(cat "$0.taken") "$0.real" "$@"; fi
exec "$0.real" "$@"
"""

    def take_over(self):
        self.program.rename(self.program.with_suffix(".real"))
        self.program.write_text(self.WRAPPER)
        self.program.chmod(0o755)

    def take_over_at_start(self):
        """The first worker is traced, too, but not the command that mounts: the holder brings in the wrapper."""
        wrapper, holder = self.program.with_suffix(".wrapper"), self.program.with_name("winnow-holder")
        wrapper.write_text(self.WRAPPER)
        wrapper.chmod(0o755)
        holder.rename(holder.with_suffix(".real"))
        holder.write_text(f"""#!/bin/bash
mv "{self.program}" "{self.program}.real" && mv "{wrapper}" "{self.program}"
exec -a "$0" "$0.real" "$@"
""")
        holder.chmod(0o755)

    def next_start(self, mounted, words):
        """Kills the worker; the next one starts with these words for strace. True if it did not live to serve."""
        mounted.winnow("status", "--restart", mounted.path)  # forget the deaths before, or the holder would pause
        before = mounted.worker()
        deaths = survival(mounted)["deaths"]
        self.plan.write_text(words)
        kill(before)
        wait_until(lambda: not self.plan.exists(), "the next worker starts")
        wait_for_next_worker(mounted, before)
        return survival(mounted)["deaths"] > deaths + 1

    def calls_of_a_start(self, mounted, trace):
        """Every call of a worker until it serves, with how often a single thread makes it."""
        self.next_start(mounted, f"-o {trace}")
        counts = Counter(tuple(line.split("(")[0].split()) for line in trace.read_text().splitlines() if "(" in line)
        most = Counter()
        for key, count in counts.items():
            if len(key) == 2 and key[1].isidentifier():
                most[key[1]] = max(most[key[1]], count)
        return most
