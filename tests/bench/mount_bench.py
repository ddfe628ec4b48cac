"""Measures a Winnow mount against the native filesystem and rclone; see --help. Run through mount.sh.

All filesystems are mounted at the same time and read in turn, round by round, because a shared machine is not
the same from one minute to the next: each ratio is taken within one round, and the table shows medians. Targets
are reported, never enforced: the exit code is 0 unless something broke.
"""

import argparse
import json
import os
import platform
import random
import shutil
import statistics
import subprocess
import sys

import million
from mounts import CLEAN_ENVIRONMENT, Native, Rclone, Winnow, Workspace, memory_of
from report import check_targets, print_report

HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SEED = 20260
SETS = {"small": (10_000, 1_500, 3_500), "large": (2_000, 60_000, 160_000)}  # files, bytes from and to
QUICK_SHARE = 10
SECONDS_A_RUN = 0.4  # of reading, so that a run is long beside the machine's hiccups
ROUNDS, QUICK_ROUNDS, RCLONE_ROUNDS = 9, 3, 3
WINNOW_ROWS = {
    "winnow tracked": [],
    "winnow untracked": ["--track", "off"],
    "winnow open+read": ["--track", "open", "--page-cache", "off"],
}


def say(text):
    print(text, file=sys.stderr, flush=True)


def arguments():
    parser = argparse.ArgumentParser(prog="mount.sh", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the files, fewer rounds, no million files")
    parser.add_argument("--json", metavar="FILE", help="write all measurements there, too")
    parser.add_argument("--million", action=argparse.BooleanOptionalAction,
                        help="measure 1,000,000 files (default: unless --quick)")
    parser.add_argument("--rounds", type=int, help=f"default {ROUNDS}, with --quick {QUICK_ROUNDS}")
    parser.add_argument("--winnow", metavar="PATH", help="the program to measure; default: a release build")
    parser.add_argument("--reader", metavar="PATH", help="bench_reader; default: a release build")
    parser.add_argument("--tmp", metavar="FOLDER", help="where data and mounts go; default: the usual one")
    return parser.parse_args()


def build(options):
    if options.winnow and options.reader:
        return
    for command in (["cmake", "--preset", "release"],
                    ["cmake", "--build", "build/release", "--target", "winnow", "bench_reader"]):
        subprocess.run(command, cwd=ROOT, check=True, stdout=sys.stderr)
    options.winnow = options.winnow or os.path.join(ROOT, "build/release/fs/winnow")
    options.reader = options.reader or os.path.join(ROOT, "build/release/tests/bench/bench_reader")


def refaults():
    """Pages that the kernel took away and somebody read again: they explain READs in a warm epoch."""
    with open("/proc/vmstat") as counters:
        return sum(int(line.split()[1]) for line in counters if line.startswith("workingset_refault_file "))


class DataSet:
    """Files of one size class in ten class folders, and the list that readers take."""

    def __init__(self, workspace, source, name, count, low, high):
        random_bytes = random.Random(f"{SEED} {name}")
        self.name, self.count, self.bytes = name, count, 0
        self.list = os.path.join(workspace.path, name + ".list")
        with open(self.list, "w") as names:
            for number in range(count):
                folder = f"{name}/class-{number % 10}"
                os.makedirs(os.path.join(source, folder), exist_ok=True)
                content = random_bytes.randbytes(random_bytes.randint(low, high))
                with open(f"{source}/{folder}/{number:05}.jpg", "wb") as file:
                    file.write(content)
                names.write(f"{folder}/{number:05}.jpg\n")
                self.bytes += len(content)


class Reader:
    def __init__(self, name, command):
        self.name, self.command = name, command

    def read(self, target, data, epochs=1, seed=1, extra=()):
        done = subprocess.run([*self.command, target.root, data.list, str(data.bytes), "--epochs", str(epochs),
                               "--seed", str(seed), *extra], capture_output=True, env=CLEAN_ENVIRONMENT)
        if done.returncode != 0:
            raise RuntimeError(f"{self.name} on {target.name}: {done.stderr.decode().strip()}")
        return json.loads(done.stdout)


def rate(run):
    return run["files"] * len(run["seconds"]) / sum(run["seconds"])


def measure(reader, target, data, epochs, seed):
    """One run of some epochs: files/s, and per file or epoch what the daemon did for it."""
    before = target.sample()
    run = reader.read(target, data, epochs, seed)
    target.settle()
    after = target.sample()
    daemon_cpu = after.get("cpu", 0) - before.get("cpu", 0)
    result = {"files_per_s": rate(run), "epochs": epochs,
              "cpu_us_per_file": (run["cpu_seconds"] + daemon_cpu) / (data.count * epochs) * 1e6}
    if target.pid is not None:
        result["cpu_s"] = daemon_cpu / epochs
        result["rss_mb"] = memory_of(target.pid)["rss_mb"]
    if "requests" in after:
        files = data.count * epochs
        requests = target.requests_between(before, after)
        result["requests"] = requests
        result["requests_per_file"] = {kind: count / files for kind, count in requests.items()}
        result["opens_seen"] = (after["opens"] - before["opens"]) / files
        result["lost_events"] = after["lost"] - before["lost"]
    return result


def first_epochs(reader, mounts, data_sets):
    """After a listing and nothing else. Each mount is then warm for what follows."""
    rows = []
    for mount in mounts:
        subprocess.run(["find", mount.root, "-size", "+0"], stdout=subprocess.DEVNULL, check=True)
        for data in data_sets:
            rows.append({"row": mount.name, "data": data.name, **measure(reader, mount, data, 1, SEED)})
    return rows


def check_bytes(reader, targets, data_sets):
    for data in data_sets:
        digests = {target.name: reader.read(target, data, extra=["--digest"])["digest"] for target in targets}
        if len(set(digests.values())) != 1:
            raise RuntimeError(f"not the same bytes everywhere in {data.name}: {digests}")


def warm_epochs(reader, targets, data, rounds):
    epochs = {}
    for target in targets:
        reader.read(target, data)  # warms it up
        epochs[target.name] = max(1, min(40, round(rate(reader.read(target, data)) * SECONDS_A_RUN / data.count)))
        target.settle()
    runs = {target.name: [] for target in targets}
    for number in range(rounds):
        turn = targets[number % len(targets):] + targets[:number % len(targets)]
        for target in turn:
            if isinstance(target, Rclone) and number >= RCLONE_ROUNDS:
                continue
            run = measure(reader, target, data, epochs[target.name], SEED + number)
            runs[target.name].append({"round": number, **run})
    native = [run["files_per_s"] for run in runs["native"]]
    return [summary(reader, data, name, runs[name], native) for name in runs]


def summary(reader, data, name, runs, native):
    rates = [run["files_per_s"] for run in runs]
    ratios = [run["files_per_s"] / native[run["round"]] for run in runs]
    row = {"reader": reader.name, "data": data.name, "row": name, "files_per_s": statistics.median(rates),
           "spread": (max(rates) - min(rates)) / statistics.median(rates), "x_native": statistics.median(ratios),
           "x_native_range": [min(ratios), max(ratios)], "runs": runs}
    for key in ("cpu_us_per_file", "cpu_s", "rss_mb", "opens_seen"):
        if key in runs[0]:
            row[key] = statistics.median(run[key] for run in runs)
    if "requests" in runs[0]:
        files = data.count * sum(run["epochs"] for run in runs)
        kinds = sorted({kind for run in runs for kind in run["requests"]})
        row["requests_per_file"] = {kind: sum(run["requests"].get(kind, 0) for run in runs) / files for kind in kinds}
        row["lost_events"] = sum(run["lost_events"] for run in runs)
    return row


def measure_reading(options, workspace, result):
    source = workspace.folder("source")
    share = QUICK_SHARE if options.quick else 1
    say("making the files ...")
    data_sets = [DataSet(workspace, source, name, count // share, low, high)
                 for name, (count, low, high) in SETS.items()]
    mounts = [Winnow(workspace, options.winnow, name, source, more) for name, more in WINNOW_ROWS.items()]
    targets = [Native(source), *mounts]
    program = shutil.which("rclone")
    if program:
        targets.append(Rclone(workspace, program, source))
    result["rclone"] = program is not None
    readers = [Reader("C++, 2 threads", [options.reader]),
               Reader("Python, 2 processes", [sys.executable, os.path.join(HERE, "reader.py")])]
    say("first epochs ...")
    result["first_epoch"] = first_epochs(readers[0], mounts, data_sets)
    check_bytes(readers[0], targets, data_sets)
    rounds = options.rounds or (QUICK_ROUNDS if options.quick else ROUNDS)
    refaults_before = refaults()
    result["warm"] = []
    for reader in readers:
        for data in data_sets:
            say(f"warm epochs: {reader.name}, {data.count:,} {data.name} files, {rounds} rounds ...")
            result["warm"] += warm_epochs(reader, targets, data, rounds)
    result["machine"]["refaulted_pages"] = refaults() - refaults_before
    for mount in targets[:0:-1]:
        mount.unmount()


def measure_million(options, workspace, result):
    wanted = options.million if options.million is not None else not options.quick
    if not wanted:
        result["million"] = {"skipped": "not asked for"}
    elif not million.has_room(workspace.path):
        result["million"] = {"skipped": "not enough free space or inodes for a million files"}
    else:
        result["million"] = million.run(workspace, options.winnow, say)


def main():
    options = arguments()
    build(options)
    result = {"machine": {"kernel": platform.release(), "cpus": os.cpu_count(), "python": platform.python_version(),
                          "load_before": os.getloadavg()[0]}}
    with Workspace(options.tmp) as workspace:
        measure_reading(options, workspace, result)
        measure_million(options, workspace, result)
    result["machine"]["load_after"] = os.getloadavg()[0]
    result["targets"] = check_targets(result)
    print_report(result)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(result, file, indent=1)


if __name__ == "__main__":
    try:
        main()
    except (RuntimeError, OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"mount.sh: {error}")
