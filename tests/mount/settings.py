"""Where things are, and how patient to be."""
import os
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
WINNOW = Path(os.environ.get("WINNOW_BIN") or PROJECT / "build/release/fs/winnow")
SUPPORT = Path(os.environ.get("WINNOW_SUPPORT_DIR") or PROJECT / "build/release/tests/support")
SHARED_DATA = PROJECT.parent / "shared" / "data"

# Sanitizers make the daemon 3 to 10 times slower; the build tells its own guess.
SLOWDOWN = float(os.environ.get("WINNOW_TEST_SLOWDOWN") or os.environ.get("WINNOW_BUILD_SLOWDOWN") or 1)
LONG = os.environ.get("WINNOW_LONG") == "1"

NOBODY = 65534


def is_sanitized():
    """Whether the program carries a sanitizer, which needs memory of its own."""
    content = WINNOW.read_bytes()
    return b"__asan_init" in content or b"__tsan_init" in content
