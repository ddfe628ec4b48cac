"""Where things are, and how patient to be."""
import os
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
WINNOW = Path(os.environ.get("WINNOW_BIN") or PROJECT / "build/release/fs/winnow")
SUPPORT = Path(os.environ.get("WINNOW_SUPPORT_DIR") or PROJECT / "build/release/tests/support")
SHARED_DATA = PROJECT.parent / "shared" / "data"

# Sanitizers make the daemon 3 to 10 times slower.
SLOWDOWN = float(os.environ.get("WINNOW_TEST_SLOWDOWN", "1"))
LONG = os.environ.get("WINNOW_LONG") == "1"

NOBODY = 65534
