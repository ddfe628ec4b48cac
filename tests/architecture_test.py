#!/usr/bin/env python3
"""Checks every #include against who may use whom, and the top level against what it may hold.

Usage: architecture_test.py REPOSITORY

The table is the one of the design: folders use only those below them, third-party code stays in the folders
that it was chosen for, and one file alone speaks to libfuse. A finding names file and line.
"""
import os
import re
import subprocess
import sys

# Folder: (folders it may include besides itself, third-party code it may include).
TABLE = {
    "policy": ([], []),
    "cache/board": (["policy"], ["hiredis", "boost", "spdlog"]),
    "cache/s3": (["policy", "cache"],
                 ["boost", "curl", "expat", "nlohmann-json", "openssl", "spdlog", "xxhash"]),
    "cache": (["policy", "cache/board"], ["boost", "liburing", "xxhash", "curl", "spdlog"]),
    "fs": (["policy", "cache", "cache/board", "cache/s3"],
           ["boost", "CLI11", "libfuse", "nlohmann-json", "prometheus-cpp", "spdlog", "xxhash"]),
    "gpu_scorer": (["policy", "cache/board"], ["boost", "CLI11", "cuda", "nlohmann-json", "opencv", "spdlog", "torch"]),
    "agents": (["policy", "cache/board"], ["boost", "CLI11", "nlohmann-json", "spdlog"]),
}

# How third-party headers begin.
LIBRARIES = {
    "boost": ["boost/"],
    "CLI11": ["CLI/"],
    "cuda": ["cuda", "cub/", "thrust/"],
    "curl": ["curl/"],
    "expat": ["expat.h"],
    "hiredis": ["hiredis/"],
    "libfuse": ["fuse.h", "fuse_", "fuse3/"],
    "liburing": ["liburing"],
    "nlohmann-json": ["nlohmann/"],
    "opencv": ["opencv2/"],
    "openssl": ["openssl/"],
    "prometheus-cpp": ["prometheus/"],
    "spdlog": ["spdlog/", "fmt/"],
    "torch": ["torch/", "ATen/", "c10/"],
    "xxhash": ["xxhash.h"],
}

# The operating system's own headers; policy does without them too.
SYSTEM = re.compile(
    r"(sys|linux|netinet|arpa|net|bits)/[a-z0-9_/]+\.h|"
    r"(dirent|dlfcn|endian|fcntl|features|getopt|grp|ifaddrs|libgen|malloc|mntent|netdb|poll|pthread|pwd|sched|"
    r"semaphore|signal|spawn|syslog|termios|unistd)\.h")
STANDARD = re.compile(r"[a-z_0-9]+|std(def|int|bool)\.h")  # C++: no dot, no folder; and what a C header needs
INCLUDE = re.compile(r'\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')
SOURCES = (".h", ".cpp", ".cu", ".cuh")

ONLY_LIBFUSE_USER = "fs/fuse_session.cpp"
TOP_LEVEL = {
    "CMakeLists.txt", "fs", "cache", "policy", "gpu_scorer", "agents", "tests", "deploy", "README.md", "LICENSE",
    "ARCHITECTURE.md", "CMakePresets.json",
}


def folder_of(path):
    """The row of the table a file belongs to; None if it belongs to none."""
    rows = [row for row in TABLE if path.startswith(row + "/")]
    return max(rows, key=len) if rows else None


def library_of(header):
    for library, beginnings in LIBRARIES.items():
        if any(header.startswith(beginning) for beginning in beginnings):
            return library
    return None


def check_own(folder, header, root):
    allowed = [folder] + TABLE[folder][0]
    target = folder_of(header)
    if target is None:
        return f'"{header}" is not written from the top of the repository'
    if target not in allowed:
        return f'{folder} may not include {target} ("{header}")'
    if not os.path.exists(os.path.join(root, header)):
        return f'"{header}" does not exist'
    return None


def check_foreign(folder, header, path):
    library = library_of(header)
    if library is None:
        if STANDARD.fullmatch(header):
            return None
        if not SYSTEM.fullmatch(header):
            return f"<{header}> is in no table: is it a new library?"
        return f"{folder} uses the standard library only, not <{header}>" if folder == "policy" else None
    if library not in TABLE[folder][1]:
        return f"{folder} may not use {library} (<{header}>)"
    if library == "libfuse" and path != ONLY_LIBFUSE_USER:
        return f"only {ONLY_LIBFUSE_USER} may include <{header}>"
    return None


def check_file(root, path):
    folder = folder_of(path)
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            own, foreign = match.groups()
            finding = check_own(folder, own, root) if own else check_foreign(folder, foreign, path)
            if finding:
                yield f"{path}:{number}: {finding}"


def sources(root):
    for top in sorted({row.split("/")[0] for row in TABLE}):
        for folder, _, names in os.walk(os.path.join(root, top)):
            for name in sorted(names):
                if name.endswith(SOURCES):
                    yield os.path.relpath(os.path.join(folder, name), root)


def top_level(root):
    """What the repository holds at its top; without git, what the folder holds."""
    listed = subprocess.run(["git", "-c", "safe.directory=*", "-C", root, "ls-files"], capture_output=True, text=True)
    if listed.returncode == 0 and listed.stdout:
        return {path.split("/")[0] for path in listed.stdout.splitlines()}
    return set(os.listdir(root)) - {"build"}


def main():
    root = sys.argv[1]
    paths = list(sources(root))
    findings = [finding for path in paths for finding in check_file(root, path)]
    for name in sorted(top_level(root)):
        if name not in TOP_LEVEL and not name.startswith("."):
            findings.append(f"{name}: the top level holds only {', '.join(sorted(TOP_LEVEL))} and dot-files")
    if not any(path == ONLY_LIBFUSE_USER for path in paths):
        findings.append(f"{ONLY_LIBFUSE_USER}: is missing; did the one user of libfuse move?")
    for finding in findings:
        print(finding)
    print(f"{len(paths)} files looked at, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
