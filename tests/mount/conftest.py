"""Each test gets a folder of its own with a source, a mountpoint and a state directory; whatever it mounts
there is unmounted at its end, also when it fails, and never outlives its time limit."""
import os
import shutil
import tempfile
from pathlib import Path

import pytest

from mounts import Mount, SlowSource
from processes import force_unmount, watchdog
from s3_origin import Origin, without_settings
from s3_services import Service
from settings import SUPPORT, WINNOW
from survival import make_data
from trees import unpack_flowers

DEFAULT_LIMIT_SECONDS = 60


def pytest_configure(config):
    if not WINNOW.exists():
        raise pytest.UsageError(f"{WINNOW} is missing: build it, or name it with WINNOW_BIN")
    if os.geteuid() != 0:
        raise pytest.UsageError("the mount tests need root; they also test the mount of an ordinary user")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    mark = item.get_closest_marker("limit")
    with watchdog.guard(mark.args[0] if mark else DEFAULT_LIMIT_SECONDS):
        yield


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_setup():
    yield from watchdog.watch_phase()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call():
    yield from watchdog.watch_phase()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_teardown():
    yield from watchdog.watch_phase()


class Place:
    def __init__(self, root):
        self.root = root
        self.source = root / "source"
        self.mountpoint = root / "mnt"
        self.state = root / "state"
        self.source.mkdir()
        self.mountpoint.mkdir()
        # No setting of whoever runs the tests, and no state directory of the machine's.
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("WINNOW_")}
        self.environment["HOME"] = str(root)
        for name in ("ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"):
            given = self.environment.get(name)
            self.environment[name] = f"{given + ':' if given else ''}log_path={root}/sanitizer"

    def sanitizer_reports(self):
        return "\n".join(path.read_text() for path in self.root.glob("sanitizer*"))


@pytest.fixture
def place():
    # pytest's own temporary folders are closed to other users, whom some tests need.
    root = Path(tempfile.mkdtemp(prefix="winnow-test-")).resolve()
    root.chmod(0o755)
    place = Place(root)
    yield place
    reports = place.sanitizer_reports()
    force_unmount(place.mountpoint)
    shutil.rmtree(os.fsencode(root))  # bytes: names need not be text
    assert not reports, reports


@pytest.fixture
def source(place):
    return place.source


@pytest.fixture
def mount(place):
    """mount(*options, source=, mountpoint=, state=, user=, environment=): a Mount that answers."""
    mounts = []

    def start(*options, source=None, **where):
        made = Mount(place, source or place.source, options, **where)
        mounts.append(made)
        return made.start()

    yield start
    problems = [problem for problem in (made.clean_up() for made in reversed(mounts)) if problem]
    assert not problems, problems


@pytest.fixture
def slow_source(place):
    """The source folder seen through a filesystem that stalls and fails on command."""
    if not (SUPPORT / "slowfs").exists():
        pytest.skip(f"slowfs is not built in {SUPPORT}; name its folder with WINNOW_SUPPORT_DIR")
    slow = SlowSource(place.source, place.root / "control", place.root / "slow")
    yield slow
    slow.clean_up()


@pytest.fixture
def origin():
    """An empty bucket of the test origin."""
    started = Origin()
    yield started
    started.clean_up()


@pytest.fixture
def mount_s3(place, mount):
    """mount_s3(origin, *options, prefix=, environment=): the bucket, mounted."""

    def start(origin, *options, prefix="", environment=None):
        return mount("--s3-endpoint", origin.endpoint, *options, source=f"s3://data/{prefix}",
                     environment=environment or origin.environment(place))

    return start


@pytest.fixture
def service():
    """service(answer): a Service."""
    started = []

    def start(answer):
        started.append(Service(answer))
        return started[-1]

    yield start
    for one in started:
        one.close()


@pytest.fixture
def bare(place):
    """An environment without any credentials, and nobody to ask for some."""
    return {**without_settings(place.environment), "AWS_EC2_METADATA_DISABLED": "true"}


@pytest.fixture
def digests(source):
    """A source of many sizes: {path: digest}, for readers that compare every byte."""
    return make_data(source)


@pytest.fixture(scope="session")
def flowers():
    """train/<class>/<file>.jpg: real photos where the shared data is there, generated ones where not."""
    folder = Path(tempfile.mkdtemp(prefix="winnow-flowers-")).resolve()
    unpack_flowers(folder)
    yield folder
    shutil.rmtree(folder)
