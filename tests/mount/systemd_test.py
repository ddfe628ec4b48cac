"""The systemd unit, under a real systemd: a machine of its own in namespaces of this one."""
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from processes import run, wait_until
from settings import PROJECT, SLOWDOWN, WINNOW

UNIFIED = [path for path in (Path("/sys/fs/cgroup/unified"), Path("/sys/fs/cgroup")) if (path / "cgroup.procs").exists()]
MOUNTPOINT, SOURCE = "/mnt/winnow-data", "/srv/winnow-data"
LOG = "/var/log/winnow-data"

pytestmark = [
    pytest.mark.limit(120),
    pytest.mark.skipif(not Path("/lib/systemd/systemd").exists(), reason="needs systemd"),
    pytest.mark.skipif(not UNIFIED, reason="needs a cgroup v2 hierarchy"),
]


class Machine:
    """Runs commands in the namespaces of a machine's first process."""

    def __init__(self, folder, group):
        self.log = folder / "log"
        script = PROJECT / "tests/mount/systemd_machine.sh"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                ["sh", "-c", f'echo $$ > {group}/cgroup.procs && exec unshare --mount --pid --fork --cgroup '
                 f'--propagation private bash {script} {folder}'], stdout=log, stderr=subprocess.STDOUT)
        self.first = wait_until(self.find_first, "the machine starts")
        wait_until(lambda: self.run("systemctl", "is-system-running", check=False).stdout == b"running\n",
                   "its systemd runs")

    def find_first(self):
        assert self.process.poll() is None, self.log.read_text()
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children") as file:
            pids = file.read().split()
        if not pids:
            return None
        with open(f"/proc/{pids[0]}/cmdline") as file:
            return int(pids[0]) if file.read().startswith("/lib/systemd/systemd") else None

    def run(self, *words, **options):
        return run(["nsenter", "-t", str(self.first), "-m", "-p", "-C", "-r", "-w", *words], **options)

    def facts(self, *names):
        """Of the unit."""
        lines = self.run("systemctl", "show", "winnow@data", *[f"-p{name}" for name in names]).stdout.decode().splitlines()
        return dict(line.split("=", 1) for line in lines)

    def state(self):
        return self.facts("ActiveState")["ActiveState"]

    def pids(self, program):
        """By their numbers within the machine."""
        return self.run("pgrep", "-x", program, check=False).stdout.decode().split()

    def read(self):
        return self.run("cat", f"{MOUNTPOINT}/file").stdout

    def end(self):
        os.kill(self.first, signal.SIGKILL)  # and all that runs in it
        self.process.wait(20)


@pytest.fixture
def machine(place):
    files = place.root / "files"
    (files / "usr/bin").mkdir(parents=True)
    for program in ("winnow", "winnow-holder"):
        shutil.copy(WINNOW.parent / program, files / "usr/bin")
    units = files / "etc/systemd/system"
    units.mkdir(parents=True)
    shutil.copy(PROJECT / "deploy/systemd/winnow@.service", units)
    (units / "winnow@.service.d").mkdir()  # there is no journal
    (units / "winnow@.service.d/log.conf").write_text(f"[Service]\nStandardError=append:{LOG}\n")
    for folder in (SOURCE, MOUNTPOINT):
        (files / folder[1:]).mkdir(parents=True)
    (files / SOURCE[1:] / "file").write_text("content")
    (files / "etc/winnow").mkdir()
    (files / "etc/winnow/data.toml").write_text(f'source = "{SOURCE}"\nmountpoint = "{MOUNTPOINT}"\nmemory = "16M"\n')
    (place.root / "layers").mkdir()
    group = UNIFIED[0] / f"winnow-test-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"no cgroup can be made here: {error}")
    machine = None
    try:
        machine = Machine(place.root, group)
        yield machine
    finally:
        if machine is not None:
            machine.end()
        wait_until(lambda: not (group / "cgroup.procs").read_text(), "all of it ended")
        for folder, _, _ in os.walk(group, topdown=False):
            os.rmdir(folder)


def test_the_unit_starts_stops_and_restarts_the_mount(machine):
    machine.run("systemctl", "start", "winnow@data")
    assert machine.state() == "active" and machine.read() == b"content"
    assert machine.facts("MainPID")["MainPID"] in machine.pids("winnow-holder")
    assert machine.facts("OOMPolicy") == {"OOMPolicy": "continue"}
    before = machine.pids("winnow-holder")
    machine.run("systemctl", "restart", "winnow@data")
    assert machine.read() == b"content" and machine.pids("winnow-holder") != before
    machine.run("systemctl", "stop", "winnow@data")
    assert machine.state() == "inactive"
    assert not machine.pids("winnow-holder") and not machine.pids("winnow")
    assert machine.run("mountpoint", "-q", MOUNTPOINT, check=False).returncode != 0


def test_no_single_death_is_the_death_of_the_service(machine):
    machine.run("systemctl", "start", "winnow@data")
    worker = machine.pids("winnow")
    machine.run("kill", "-9", *worker)
    assert machine.read() == b"content" and machine.state() == "active"
    holder = machine.pids("winnow-holder")
    machine.run("kill", "-9", *holder)
    wait_until(lambda: machine.pids("winnow-holder") not in ([], holder), "another holder")
    wait_until(lambda: machine.facts("MainPID")["MainPID"] in machine.pids("winnow-holder"), "it is the main process")
    assert machine.read() == b"content" and machine.state() == "active"
    assert machine.facts("NRestarts") == {"NRestarts": "0"}
    machine.run("systemctl", "stop", "winnow@data")
    assert machine.state() == "failed", "systemd remembers that a main process was killed"
    assert not machine.pids("winnow") and machine.run("mountpoint", "-q", MOUNTPOINT, check=False).returncode != 0


def test_after_the_death_of_both_the_service_mounts_again(machine):
    machine.run("systemctl", "start", "winnow@data")
    machine.run("systemctl", "kill", "--signal=KILL", "winnow@data")
    wait_until(lambda: machine.facts("NRestarts")["NRestarts"] != "0" and machine.state() == "active", "it is restarted")
    assert machine.read() == b"content"


def test_reload_lets_the_installed_version_take_over(machine):
    machine.run("systemctl", "start", "winnow@data")
    before = machine.pids("winnow-holder")
    machine.run("systemctl", "reload", "winnow@data")
    wait_until(lambda: machine.facts("MainPID")["MainPID"] in machine.pids("winnow-holder"), "the new holder is known")
    assert machine.pids("winnow-holder") != before and machine.read() == b"content" and machine.state() == "active"


def test_a_source_that_is_not_there_fails_the_start_with_a_sentence(machine):
    machine.run("rm", "-r", SOURCE)
    done = machine.run("systemctl", "start", "winnow@data", check=False, timeout=30 * SLOWDOWN)
    assert done.returncode != 0
    said = machine.run("cat", LOG).stdout.decode().splitlines()
    assert said and all(SOURCE in line and line.startswith("winnow: ") for line in said), said
    machine.run("systemctl", "stop", "winnow@data")
    assert machine.run("mountpoint", "-q", MOUNTPOINT, check=False).returncode != 0
