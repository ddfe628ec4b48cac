"""System calls that Python does not offer."""
import contextlib
import ctypes
import os
import platform
import subprocess

libc = ctypes.CDLL(None, use_errno=True)
PAGE = os.sysconf("SC_PAGESIZE")
AT_FDCWD = -100
STATX_BTIME = 0x800
CACHESTAT = 451  # the same number on every architecture


class _Time(ctypes.Structure):
    _fields_ = [("seconds", ctypes.c_int64), ("nanoseconds", ctypes.c_uint32), ("_", ctypes.c_int32)]


class _Statx(ctypes.Structure):
    _fields_ = [("mask", ctypes.c_uint32), ("_head", ctypes.c_uint8 * 60), ("atime", _Time), ("btime", _Time),
                ("_tail", ctypes.c_uint8 * 160)]


def birth_time(path):
    """(seconds, nanoseconds), or None where the filesystem has none."""
    found = _Statx()
    if libc.statx(AT_FDCWD, os.fsencode(path), 0, STATX_BTIME, ctypes.byref(found)) != 0:
        raise OSError(ctypes.get_errno(), "statx")
    return (found.btime.seconds, found.btime.nanoseconds) if found.mask & STATX_BTIME else None


def cached_bytes(path):
    """Bytes of the file in the page cache, by the kernel's own count; None before Linux 6.5."""
    whole = (ctypes.c_uint64 * 2)(0, 0)
    counts = (ctypes.c_uint64 * 5)()
    fd = os.open(path, os.O_RDONLY)
    try:
        if libc.syscall(CACHESTAT, fd, whole, counts, 0) != 0:
            return None
        return counts[0] * PAGE
    finally:
        os.close(fd)


def kernel_at_least(major, minor):
    return tuple(map(int, platform.release().split(".")[:2])) >= (major, minor)


# The same numbers on every architecture.
OPEN_TREE, MOVE_MOUNT, MOUNT_SETATTR = 428, 429, 442
OPEN_TREE_CLONE, AT_EMPTY_PATH, MOVE_MOUNT_F_EMPTY_PATH, MOUNT_ATTR_IDMAP = 1, 0x1000, 4, 0x100000


def _call(number, *arguments):
    result = libc.syscall(number, *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


@contextlib.contextmanager
def idmapped_mount(mount, target, first_uid):
    """`mount` bound to `target` with uid and gid 0 shown as `first_uid`, and so on up."""
    holder = subprocess.Popen(["unshare", "--user", "sh", "-c", "echo; exec cat"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE)
    try:
        holder.stdout.readline()
        for kind in ("uid_map", "gid_map"):
            with open(f"/proc/{holder.pid}/{kind}", "w") as table:
                table.write(f"0 {first_uid} 70000")
        namespace = os.open(f"/proc/{holder.pid}/ns/user", os.O_RDONLY)
        clone = _call(OPEN_TREE, AT_FDCWD, os.fsencode(mount), OPEN_TREE_CLONE)
        attributes = (ctypes.c_uint64 * 4)(MOUNT_ATTR_IDMAP, 0, 0, namespace)
        _call(MOUNT_SETATTR, clone, b"", AT_EMPTY_PATH, attributes, ctypes.sizeof(attributes))
        _call(MOVE_MOUNT, clone, b"", AT_FDCWD, os.fsencode(target), MOVE_MOUNT_F_EMPTY_PATH)
        os.close(clone)
        os.close(namespace)
    finally:
        holder.stdin.close()
        holder.wait()
    try:
        yield
    finally:
        libc.umount2(os.fsencode(target), 2)  # MNT_DETACH
