"""A million files: how soon a mount answers from its saved snapshot, what it then holds, how fast `find` is."""

import os
import statistics
import subprocess
import time

from mounts import Winnow, memory_of

FOLDERS = 1000
FILES_PER_FOLDER = 1000
CYCLES = 3
NEEDED_BYTES = 4 << 30  # folders, inodes and the saved snapshot


def has_room(path):
    free = os.statvfs(path)
    return free.f_favail > FOLDERS * FILES_PER_FOLDER * 1.1 and free.f_bavail * free.f_frsize > NEEDED_BYTES


def make_files(root, folders):
    for folder in range(folders):
        path = os.path.join(root, f"class-{folder:04}")
        os.mkdir(path)
        for file in range(FILES_PER_FOLDER):
            os.close(os.open(f"{path}/sample-{file:04}.jpg", os.O_CREAT | os.O_WRONLY))


def kernel_memory_mb():
    """Of inodes of FUSE and of names; None where slabinfo may not be read."""
    try:
        with open("/proc/slabinfo") as slabs:
            lines = [line.split() for line in slabs]
    except PermissionError:
        return None
    return {line[0]: int(line[14]) * int(line[5]) * 4096 / 1e6 for line in lines if line[0] in ("fuse_inode", "dentry")}


def timed_find(root):
    began = time.monotonic()
    subprocess.run(["find", root], stdout=subprocess.DEVNULL, check=True)
    return time.monotonic() - began


def count_names(root):
    find = subprocess.run(f"find '{root}' | wc -l", shell=True, check=True, capture_output=True)
    return int(find.stdout)


def forget_pages(folder):
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        if not os.path.isfile(path):
            continue
        fd = os.open(path, os.O_RDONLY)
        os.fsync(fd)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)


def mount_once(workspace, program, source, state):
    return Winnow(workspace, program, "million", source, state_dir=state, probe="class-0001/sample-0500.jpg")


def one_cycle(workspace, program, source, state):
    kernel_before = kernel_memory_mb()
    mount = mount_once(workspace, program, source, state)
    cycle = {"answers_s": mount.answered_after, "rss_after_mount": memory_of(mount.pid)}
    cycle["first_find_s"] = timed_find(mount.root)
    cycle["rss_after_first_find"] = memory_of(mount.pid)
    cycle["second_find_s"], cycle["native_find_s"] = [], []
    for _ in range(3):
        cycle["second_find_s"].append(timed_find(mount.root))
        cycle["native_find_s"].append(timed_find(source))
    cycle["rss_after_finds"] = memory_of(mount.pid)
    kernel_after = kernel_memory_mb()
    if kernel_after:
        cycle["kernel_mb"] = {name: kernel_after[name] - kernel_before.get(name, 0) for name in kernel_after}
    cycle["names"] = count_names(mount.root)
    began = time.monotonic()
    mount.unmount()
    cycle["unmount_s"] = time.monotonic() - began
    return cycle


def run(workspace, program, say, folders=FOLDERS):
    source, state = workspace.folder("million"), workspace.folder("state-million")
    say(f"making {folders * FILES_PER_FOLDER:,} files ...")
    make_files(source, folders)
    names = count_names(source)
    say("taking the snapshot ...")
    mount = mount_once(workspace, program, source, state)
    result = {"files": folders * FILES_PER_FOLDER, "snapshot_s": mount.answered_after,
              "rss_after_snapshot": memory_of(mount.pid),
              "snapshot_mb": sum(entry.stat().st_size for entry in os.scandir(state)) / 1e6}
    mount.unmount()
    forget_pages(state)  # the first cycle reads the snapshot from the disk
    result["cycles"] = []
    for cycle in range(CYCLES):
        say(f"mounting it from the saved snapshot, {cycle + 1} of {CYCLES} ...")
        result["cycles"].append(one_cycle(workspace, program, source, state))
        if result["cycles"][-1]["names"] != names:
            raise RuntimeError(f"the mount shows {result['cycles'][-1]['names']} names of {names}")
    result["summary"] = summary(result["cycles"])
    return result


def summary(cycles):
    native = statistics.median(seconds for cycle in cycles for seconds in cycle["native_find_s"])
    second = statistics.median(seconds for cycle in cycles for seconds in cycle["second_find_s"])
    first = statistics.median(cycle["first_find_s"] for cycle in cycles)
    return {"answers_s": max(cycle["answers_s"] for cycle in cycles),
            "answers_cold_s": cycles[0]["answers_s"],
            "rss_mb": max(cycle[when]["rss_mb"] for cycle in cycles
                          for when in ("rss_after_mount", "rss_after_first_find", "rss_after_finds")),
            "native_find_s": native, "first_find_s": first, "second_find_s": second,
            "first_find_x_native": native / first, "second_find_x_native": native / second}
