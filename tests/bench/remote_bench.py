"""Measures epochs over an S3 origin with 10 ms latency and 100 MB/s: direct reads, rclone mount, s3fs and Winnow, with a
cache (disk and memory together) of exactly the data's size and of a fifth of it. GETs are counted at the origin, those
made while nobody read with the epoch that follows. Prints a table, and what was to be reached.

For the fifth, readers drop each file's pages after reading it, for all alike: the data set is then larger than memory.
Before every epoch but the first, all pages are dropped (names and attributes stay, as between two epochs of a job), so
that a warm epoch of the whole comes from the disk. Of several warm epochs, the median counts.

A machine that is shared takes time away: what of each epoch's processor time was stolen is told beside it."""
import argparse
import http.client
import itertools
import json
import os
import signal
import statistics
import subprocess
import sys
import threading
import time
import urllib.request

import raw_disk
from mounts import CLEAN_ENVIRONMENT, Workspace, is_mounted, memory_of, wait_until
from remote_reader import shares_of
from remote_targets import (BANDWIDTH, COLD_DECLARED, DECLARED, IN_MEMORY, LATENCY_MS, WARM_DECLARED, WORKERS,
                            print_table)

HERE = os.path.dirname(os.path.realpath(__file__))
PROJECT = os.path.dirname(os.path.dirname(HERE))
WINNOW = f"{PROJECT}/build/release/fs/winnow"
ORIGIN = f"{PROJECT}/build/release/tests/support/winnow-test-origin"
KEY, SECRET = "bench", "secret"
ENVIRONMENT = {**{name: text for name, text in CLEAN_ENVIRONMENT.items()
                  if not name.lower().endswith("_proxy") and not name.startswith("AWS_")},
               "AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET}


class Origin:
    def __init__(self, files, least, most):
        self.process = subprocess.Popen(
            [ORIGIN, "--anonymous", "--access-key", KEY, "--secret-key", SECRET, "--generate", str(files), str(least),
             str(most), "1"], stdout=subprocess.PIPE, text=True)
        self.port, self.control_port = map(int, self.process.stdout.readline().split())
        self.endpoint = f"http://127.0.0.1:{self.port}"

    def ask(self, path, body=None):
        url = f"http://127.0.0.1:{self.control_port}{path}"
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        data = None if body is None else json.dumps(body).encode()
        with opener.open(urllib.request.Request(url, data=data), timeout=30) as answer:
            return json.loads(answer.read())

    def gets(self):
        return self.ask("/counts")["operations"].get("get", 0)

    def close(self):
        self.process.kill()
        self.process.wait()


class Mount:
    """One way to see the bucket as files; `start` mounts with an empty cache."""
    name = ""
    warm_rounds = 3

    def __init__(self, space, origin, budget, tag):
        self.path = space.folder(f"mnt-{tag}")
        self.cache = space.folder(f"cache-{tag}")
        self.origin, self.budget = origin, budget
        self.disk_limit = budget
        self.process = None
        self.counted = origin.gets()  # GETs that an epoch before has, or that were made before the mount

    def environment(self):
        return {**ENVIRONMENT, "HOME": self.cache}

    def wait(self):
        if not wait_until(lambda: is_mounted(self.path), 30):
            raise SystemExit(f"{self.name} did not mount")

    def stop(self):
        if subprocess.run(["umount", self.path], check=False, capture_output=True).returncode != 0:
            subprocess.run(["umount", "-l", self.path], check=False, capture_output=True)  # somebody holds it
        if self.process is not None:
            if not wait_until(lambda: self.process.poll() is not None, 10):
                self.process.kill()
            self.process.wait()

    def pid(self):
        return self.process.pid

    def disk_bytes(self):
        return sum(os.lstat(os.path.join(folder, name)).st_blocks * 512
                   for folder, _, names in os.walk(self.cache) for name in names if not name.endswith(".log"))


class Rclone(Mount):
    name = "rclone"

    def start(self):
        self.process = subprocess.Popen(
            ["rclone", "mount", ":s3:data", self.path, "--s3-provider", "Other", "--s3-endpoint", self.origin.endpoint,
             "--s3-env-auth", "--read-only", "--vfs-cache-mode", "full", "--vfs-cache-max-size", f"{self.budget}B",
             "--vfs-cache-poll-interval", "1s", "--cache-dir", f"{self.cache}", "--dir-cache-time", "1h", "--no-modtime",
             "--allow-other"], env=self.environment(), stderr=subprocess.DEVNULL)
        self.wait()


class S3fs(Mount):
    name = "s3fs"
    warm_rounds = 1  # of a minute each, and far from any limit

    def start(self):
        # It has no limit for its cache but the room it leaves on the disk.
        cached = [] if self.budget is None else ["-o", f"use_cache={self.cache}"]
        self.process = subprocess.Popen(
            ["s3fs", "data", self.path, "-f", "-o", f"url={self.origin.endpoint}", "-o", "use_path_request_style", "-o",
             "ro", "-o", "allow_other", "-o", "max_stat_cache_size=100000", "-o", "stat_cache_expire=3600", *cached],
            env=self.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.wait()


class Winnow(Mount):
    name = "winnow"
    warm_rounds = 7  # short ones, each at the mercy of the moment
    memory = 2 << 20
    memory_in_order = 8 << 20  # what is read next comes here, if somebody tells what that is

    def room(self):
        """Of the budget, most is disk."""
        memory = max(1 << 20, min(self.memory, self.budget // 12) // 4096 * 4096)
        self.disk_limit = self.budget - memory
        return ["--memory", str(memory), "--disk", str(self.disk_limit)]

    def start(self):
        self.state = os.path.join(self.cache, "state")
        done = subprocess.run(
            [WINNOW, "mount", "s3://data", self.path, "--s3-endpoint", self.origin.endpoint, "--state-dir", self.state,
             *self.room()], env=self.environment(), capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(done.stderr)

    def status(self):
        with open(f"{self.path}/.winnow/status.json") as file:
            return json.load(file)

    def stop(self):
        subprocess.run([WINNOW, "unmount", self.path], env=self.environment(), check=False, capture_output=True)

    def pid(self):
        return self.status()["worker_pid"]

    def disk_bytes(self):
        folder = os.path.join(self.state, "disk")
        return sum(os.lstat(os.path.join(folder, name)).st_blocks * 512 for name in os.listdir(folder))

    def declare(self, listed, seed, space):
        """What a sampler can tell: the order in which the readers will read."""
        with open(listed) as file:
            shares = shares_of(file.read().splitlines(), WORKERS, seed)
        path = os.path.join(space.path, "order")
        with open(path, "w") as file:
            for step in itertools.zip_longest(*shares):
                file.writelines(os.path.relpath(one, self.path) + "\n" for one in step if one)
        subprocess.run([WINNOW, "hint", path, self.path], env=self.environment(), check=True, capture_output=True)

    def held_files(self):
        time.sleep(2.5)  # what status tells of it is two seconds old at most
        return self.status()["where"]["disk"]["files"]


class WinnowInMemory(Winnow):
    """All of the budget is page cache. After each epoch nothing is held, since all pages are dropped."""
    name = IN_MEMORY

    def room(self):
        self.disk_limit = self.budget  # the page cache, here
        return ["--memory", str(self.budget - (1 << 20))]

    def disk_bytes(self):
        return self.status()["memory"]["page_cache_high_water_bytes"]

    def held_files(self):
        time.sleep(4.5)  # pages that went are noticed after two seconds, and counted after two more
        return self.status()["where"]["memory"]["files"]


class Peak:
    """The most of a number, looked at again and again while something runs."""

    def __init__(self, look):
        self.look, self.most, self.stopping = look, 0, threading.Event()

    def __enter__(self):
        self.thread = threading.Thread(target=self.run)
        self.thread.start()
        return self

    def run(self):
        while True:
            is_last = self.stopping.wait(0.3)
            try:
                self.most = max(self.most, self.look())
            except (OSError, KeyError, ValueError):
                pass
            if is_last:
                return

    def __exit__(self, *_):
        self.stopping.set()
        self.thread.join()


def read_as_a_job(words):
    """In a process group of its own, which ends with us: its readers would keep the mount busy."""
    reader = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        out, _ = reader.communicate()
    except BaseException:
        os.killpg(reader.pid, signal.SIGKILL)
        raise
    if reader.returncode != 0:
        raise SystemExit(f"the reader failed: {words}")
    return out


def epoch(mount, listed, seed, compute, drop):
    idle_gets = mount.origin.gets() - mount.counted
    pid = mount.pid()
    all_before, stolen_before = processor_ticks()
    with Peak(mount.disk_bytes) as disk, Peak(lambda: memory_of(pid)["peak_mb"]) as rss:
        words = [sys.executable, f"{HERE}/remote_reader.py", listed, str(WORKERS), str(seed), str(compute), str(int(drop))]
        out = read_as_a_job(words).split()
    all_ticks, stolen = processor_ticks()
    before, mount.counted = mount.counted, mount.origin.gets()
    return {"stolen": (stolen - stolen_before) / max(1, all_ticks - all_before), "seconds": float(out[0]), "bytes": int(out[1]), "gets": mount.counted - before, "idle_gets": idle_gets,
            "disk_mb": disk.most / 1e6, "disk_limit_mb": mount.disk_limit / 1e6, "rss_mb": rss.most}


def list_files(mount, space, tag):
    paths = sorted(os.path.join(folder, name) for folder, _, names in os.walk(mount.path) for name in names)
    path = os.path.join(space.path, f"list-{tag}")
    with open(path, "w") as file:
        file.write("\n".join(paths))
    return path, len(paths)


def direct(origin, keys, compute):
    """Four clients of the origin itself, with a connection each."""
    began = time.monotonic()
    shares = [keys[i::WORKERS] for i in range(WORKERS)]

    def read(share):
        line = http.client.HTTPConnection("127.0.0.1", origin.port)
        for key in share:
            line.request("GET", "/data/" + key)
            line.getresponse().read()
            if compute:
                time.sleep(compute / 1000)
    threads = [threading.Thread(target=read, args=(share,)) for share in shares]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.monotonic() - began


def drop_pages():
    os.sync()
    with open("/proc/sys/vm/drop_caches", "w") as file:
        file.write("1")


def processor_ticks():
    """All there were, and of them those that somebody else's machine had."""
    with open("/proc/stat") as file:
        ticks = [int(word) for word in file.readline().split()[1:9]]
    return sum(ticks), ticks[7]


def plans_of(kind, share):
    """Epochs over one mount each: cold and warm for a cache of everything; for a smaller one the third counts, when
    the cache is as full as it stays."""
    if share < 1:
        return [["first", "second", "third"] + ([DECLARED] if issubclass(kind, Winnow) else [])]
    if kind is WinnowInMemory:
        return [["cold"]]
    declared = [[COLD_DECLARED] + kind.warm_rounds * [WARM_DECLARED]] if kind is Winnow else []
    return [["cold"] + kind.warm_rounds * ["warm"]] + declared


def measure_mount(kind, space, origin, share, data_bytes, compute, names):
    tag = f"{kind.name}-{compute}-{share}-{names[0]}".replace(" ", "-")
    mount = kind(space, origin, int(data_bytes * share), tag)
    if names[0] == COLD_DECLARED:
        mount.memory = mount.memory_in_order
    rows = []
    mount.start()
    try:
        listed, files = list_files(mount, space, tag)
        for number, name in enumerate(names):
            if number > 0:
                drop_pages()
            held = mount.held_files() if isinstance(mount, Winnow) else None
            if name in (DECLARED, COLD_DECLARED, WARM_DECLARED):
                mount.declare(listed, number + 1, space)
            row = epoch(mount, listed, number + 1, compute, share < 1)
            rows.append({"what": kind.name, "cache": share, "epoch": name, "compute": compute, "files": files,
                         "held_before": held, **row})
            print("  ", describe(rows[-1]), file=sys.stderr)
    finally:
        mount.stop()
        subprocess.run(["rm", "-rf", mount.cache], check=False)
    return rows


def describe(row):
    held = "" if row["held_before"] is None else f", held {row['held_before']} before"
    return (f"{row['what']} {row['cache']:.0%} {row['epoch']} compute {row['compute']} ms: {row['seconds']:.1f} s, "
            f"{row['gets']} GETs ({row['idle_gets']} while idle){held}, disk {row['disk_mb']:.0f} MB, "
            f"RSS {row['rss_mb']:.0f} MB, {row['stolen']:.0%} stolen")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=8000)
    parser.add_argument("--share", type=float, default=0.2, help="the smaller cache, of the data")
    parser.add_argument("--only", default="direct,rclone,s3fs,winnow", help="rows to measure")
    parser.add_argument("--compute", default="0,1", help="milliseconds a file, several by commas")
    parser.add_argument("--caches", default="whole,part")
    parser.add_argument("--work-dir", default=None, help="where to put caches; default: the system's temporary folder")
    options = parser.parse_args()
    only = options.only.split(",")
    kinds = [kind for kind in (Rclone, S3fs, Winnow, WinnowInMemory) if kind.name.split()[0] in only]
    origin = Origin(options.files, 20_000, 110_000)
    rows = []
    try:
        with Workspace(options.work_dir) as space:
            sizes, disk_s = measure(options, only, kinds, space, origin, rows)
    finally:
        origin.close()
    print_table(rows, sizes, disk_s, options.share)


def measure(options, only, kinds, space, origin, rows):
    listed = subprocess.run(
        ["rclone", "lsf", "-R", "--files-only", ":s3:data", "--s3-provider", "Other", "--s3-endpoint", origin.endpoint,
         "--s3-env-auth", "--format", "ps"], check=True, env=ENVIRONMENT, capture_output=True, text=True)
    listed = [line.rpartition(";") for line in listed.stdout.split()]
    keys, sizes = [key for key, _, _ in listed], [int(size) for _, _, size in listed]
    disk_s = statistics.median(raw_disk.seconds(space.path, sizes, WORKERS) for _ in range(3))
    origin.ask("/faults", {"latency_ms": LATENCY_MS, "bandwidth": BANDWIDTH})
    for compute in map(float, options.compute.split(",")):
        compute = int(compute) if compute == int(compute) else compute
        if "direct" in only:
            rows.append({"what": "direct", "cache": 0.0, "epoch": "each", "compute": compute, "files": len(keys),
                         "seconds": direct(origin, keys, compute), "gets": len(keys), "idle_gets": 0, "disk_mb": 0,
                         "rss_mb": 0, "stolen": 0, "held_before": None})
            print("  ", describe(rows[-1]), file=sys.stderr)
        for share in [s for s, word in ((1.0, "whole"), (options.share, "part")) if word in options.caches]:
            for kind in kinds:
                for names in plans_of(kind, share):
                    rows += measure_mount(kind, space, origin, share, sum(sizes), compute, names)
    return sizes, disk_s


if __name__ == "__main__":
    main()
