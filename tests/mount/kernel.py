"""System calls that Python does not offer."""
import ctypes
import os
import platform

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
