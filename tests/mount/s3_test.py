"""Mounts of s3://: names, bytes and versions are the bucket's; what cannot be shown is told; secrets stay secret."""
import errno
import os
import stat
import time
from pathlib import Path

import pytest

from failure_test import Attempt
from mounts import winnow
from processes import kill, run, wait_until
from s3_origin import without_settings
from settings import WINNOW
from trees import some_bytes

ODD_NAMES = ["with space", "per%cent", "pl+us", "a&b<c>\"d'", "ünïcode-漢字", "new\nline", "tab\tand\x01", "q?m#h=;:@$,",
             " lead", "trail ", "...", "back\\slash", "*", "n" * 255]


def fill(origin, count=30, seed=0):
    contents = {f"d{i % 3}/f{i:03d}": some_bytes(100 + i * 997, seed=seed + i) for i in range(count)}
    for key, content in contents.items():
        origin.put(key, content)
    return contents


def tree_of(mount):
    top = os.fsencode(mount.path)
    return {os.fsdecode(os.path.relpath(os.path.join(path, name), top))
            for path, _, files in os.walk(top) for name in files}


def test_shows_every_object_with_its_bytes(origin, mount_s3):
    contents = fill(origin)
    mounted = mount_s3(origin)
    assert tree_of(mounted) == set(contents)
    for key, content in contents.items():
        assert (mounted / key).read_bytes() == content
    found = (mounted / "d0").stat(), (mounted / "d0/f000").stat()
    assert stat.filemode(found[0].st_mode) == "dr-xr-xr-x" and stat.filemode(found[1].st_mode) == "-r--r--r--"
    assert origin.counts()["gets"] == {key: 1 for key in contents}  # and a second read costs none
    for key, content in contents.items():
        assert (mounted / key).read_bytes() == content
    assert origin.gets() == len(contents)


def test_times_are_those_of_the_objects(origin, mount_s3):
    origin.put("now", b"x")
    assert abs((mount_s3(origin) / "now").stat().st_mtime - time.time()) < 10


def test_a_prefix_is_a_folder(origin, mount_s3):
    fill(origin)
    origin.put("d00/not this", b"x")
    assert tree_of(mount_s3(origin, prefix="d0")) == {f"f{i:03d}" for i in range(0, 30, 3)}


def test_many_pages_and_folders(origin, mount_s3):
    keys = {f"c{i % 70:02d}/x/{i:05d}" for i in range(3500)} | {f"flat/{i:05d}" for i in range(2100)}
    for key in keys:
        origin.put(key, b"")
    mounted = mount_s3(origin)
    assert tree_of(mounted) == keys
    lists = origin.counts()["operations"]["list"]
    assert 70 < lists < 200, lists


def test_large_objects_are_read_by_ranges(origin, mount_s3):
    content = some_bytes(20_000_001)
    origin.put("large", content)
    mounted = mount_s3(origin)
    with open(mounted / "large", "rb") as file:
        file.seek(15_000_000)
        assert file.read(100) == content[15_000_000:15_000_100]
        file.seek(0)
        assert file.read() == content
    gets = [line for line in origin.log() if line["method"] == "GET" and "large" in line["target"]]
    assert gets and all(line["range"] for line in gets)


def test_odd_names_are_shown_and_read(origin, mount_s3):
    for name in ODD_NAMES:
        origin.put(f"dir {name[:20]}/{name}", name.encode())
    mounted = mount_s3(origin)
    assert tree_of(mounted) == {f"dir {name[:20]}/{name}" for name in ODD_NAMES}
    for name in ODD_NAMES:
        assert (mounted / f"dir {name[:20]}/{name}").read_bytes() == name.encode()


def test_what_cannot_be_shown_is_counted_and_listed(origin, mount_s3):
    skipped = {"/lead": "empty_names", "dou//ble": "empty_names", "a/./b": "dot_names", "../up": "dot_names",
               "n" * 256: "long_names", "both": "shadowed", ".winnow/x": "reserved", "marker/": "shadowed"}
    for key in skipped:
        origin.put(key, b"bytes")
    for key in ("both/inner", "shown", "sub/.winnow"):
        origin.put(key, b"bytes")
    origin.put("empty/", b"")
    mounted = mount_s3(origin)
    assert tree_of(mounted) == {"both/inner", "shown", "sub/.winnow"}
    assert (mounted / "empty").is_dir() and (mounted / "marker").is_dir()
    assert "8 names left out" in mounted.message and "--skipped" in mounted.message
    counts = mounted.status()["snapshot"]["left_out"]
    assert counts == {"special": 0, "unreadable": 0, "links": 0, "reserved": 1, "empty_names": 2, "dot_names": 2,
                      "long_names": 1, "nul_names": 0, "shadowed": 2}
    listed = winnow("status", "--skipped", mounted.path).stdout.decode().splitlines()
    assert sorted(listed) == sorted(f"{reason}\t{key}" for key, reason in skipped.items())
    mounted.refresh()
    mounted.remount()
    assert mounted.status()["snapshot"]["left_out"] == counts
    origin.remove("/lead")
    mounted.refresh()
    assert mounted.status()["snapshot"]["left_out"]["empty_names"] == 1


def test_a_refresh_brings_in_what_changed(origin, mount_s3):
    contents = fill(origin)
    mounted = mount_s3(origin)
    assert (mounted / "d0/f000").read_bytes() == contents["d0/f000"]
    origin.put("d0/f000", b"other")
    origin.put("new/file", b"new")
    origin.remove("d1/f001")
    done = mounted.refresh()
    assert done["files"] == len(contents) and done["removed"] == 1, done
    assert (mounted / "d0/f000").read_bytes() == b"other"
    assert (mounted / "new/file").read_bytes() == b"new"
    assert not (mounted / "d1/f001").exists()


@pytest.mark.parametrize("size", [5000, 20_000_000])
def test_no_descriptor_reads_two_versions(origin, mount_s3, size):
    before, after = b"a" * size, b"b" * size
    origin.put("file", before)
    mounted = mount_s3(origin, "--memory", "1M")
    fd = os.open(mounted / "file", os.O_RDONLY)
    try:
        if size > 1_000_000:
            assert os.pread(fd, 100, 0) == before[:100]
        origin.put("file", after)
        with pytest.raises(OSError) as error:
            os.pread(fd, 100, size - 100)
        assert error.value.errno == errno.ESTALE
    finally:
        os.close(fd)
    assert (mounted / "file").read_bytes() == after


def test_a_removed_object_is_gone_at_the_next_open(origin, mount_s3):
    origin.put("a", b"a")
    origin.put("b", b"b")
    mounted = mount_s3(origin)
    origin.remove("a")
    with pytest.raises(OSError):
        (mounted / "a").read_bytes()
    assert not (mounted / "a").exists()
    assert (mounted / "b").read_bytes() == b"b"


def test_an_upgrade_needs_the_credentials_too(place, origin, mount_s3):
    contents = fill(origin, 6)
    mounted = mount_s3(origin)
    bare = {**without_settings(place.environment), "AWS_EC2_METADATA_DISABLED": "true"}
    done = run([WINNOW, "upgrade", mounted.path], check=False, env=bare)
    assert done.returncode == 1 and b"no S3 credentials" in done.stderr, done.stderr
    assert (mounted / "d0/f000").read_bytes() == contents["d0/f000"]
    mounted.winnow("upgrade", mounted.path)
    mounted.pid = mounted.status()["pid"]
    for key, content in contents.items():
        assert (mounted / key).read_bytes() == content


def test_mount_fuse_winnow_takes_a_bucket(place, origin):
    origin.put("a", b"content")
    helper = place.root / "mount.fuse.winnow"
    helper.symlink_to(WINNOW)
    run([helper, "s3://data", place.mountpoint, "-o",
         f"s3_endpoint={origin.endpoint},state_dir={place.state},_netdev"], env=origin.environment(place))
    try:
        assert (place.mountpoint / "a").read_bytes() == b"content"
        assert "s3://data" in Path("/proc/self/mounts").read_text()
    finally:
        winnow("unmount", place.mountpoint)


def test_a_new_worker_has_the_credentials(origin, mount_s3):
    contents = fill(origin)
    mounted = mount_s3(origin)
    worker = mounted.worker()
    kill(worker)
    wait_until(lambda: mounted.worker() != worker, "another worker serves")
    for key, content in contents.items():
        assert (mounted / key).read_bytes() == content


def test_a_worker_starts_while_the_store_is_away(place, origin, mount_s3):
    contents = fill(origin)
    mounted = mount_s3(origin, "--source-timeout", "2s")
    (mounted / "d0/f000").read_bytes()
    origin.process.terminate()
    origin.process.wait()
    worker = mounted.worker()
    kill(worker)
    wait_until(lambda: mounted.worker() != worker, "another worker serves")
    assert tree_of(mounted) == set(contents)
    with pytest.raises(OSError) as error:
        (mounted / "d1/f001").read_bytes()
    assert error.value.errno == errno.EIO


class TestRefusals:
    """Exit 1, one sentence, nothing left behind."""

    @pytest.fixture
    def attempt(self, place, origin):
        origin.put("folder/file", b"x")
        place.environment = {**origin.environment(place)}
        tried = Attempt(place)

        def run_it(*advice, source="s3://data", options=(), endpoint=origin.endpoint, **environment):
            place.environment.update(environment)
            return tried(*advice, source=source, options=["--s3-endpoint", endpoint, *options])

        return run_it

    def test_a_bucket_that_does_not_exist(self, attempt):
        assert "other-bucket does not exist" in attempt("check the name", source="s3://other-bucket")

    def test_a_name_that_is_none(self, attempt):
        attempt("s3://BUCKET", source="s3://")

    def test_a_prefix_with_nothing_below(self, attempt):
        attempt("check the prefix", source="s3://data/nothing")

    def test_a_prefix_that_is_an_object(self, attempt):
        assert "is an object" in attempt("mount what it is in", source="s3://data/folder/file")

    def test_a_wrong_region(self, attempt):
        attempt("--s3-region us-east-1", options=["--s3-region", "eu-west-1"])

    def test_a_wrong_secret(self, attempt):
        said = attempt("check the secret key", AWS_SECRET_ACCESS_KEY="wrong-secret")
        assert "wrong-secret" not in said

    def test_an_unknown_key(self, attempt):
        attempt("check the credentials", AWS_ACCESS_KEY_ID="unknown")

    def test_a_session_token_that_is_not_valid(self, attempt):
        attempt("renew the credentials", AWS_SESSION_TOKEN="old")

    def test_half_of_the_credentials(self, attempt):
        attempt("set both", AWS_SECRET_ACCESS_KEY="")

    def test_a_private_bucket_without_credentials(self, attempt):
        attempt("without --anonymous", options=["--anonymous"])

    def test_nobody_at_the_endpoint(self, attempt):
        attempt("check --s3-endpoint", endpoint="http://127.0.0.1:1")

    def test_a_host_that_does_not_exist(self, attempt):
        attempt("check --s3-endpoint", endpoint="http://no.such.host.invalid")

    def test_no_store_at_the_endpoint(self, attempt, origin):
        attempt("check", endpoint=f"http://127.0.0.1:{origin.control_port}")

    def test_keys_without_the_permission_to_list(self, attempt, origin):
        origin.faults(fail={"every": 1, "status": 403, "on": "list"})
        assert "refuses to list bucket data (AccessDenied)" in attempt("the credentials need s3:ListBucket")

    def test_a_bucket_that_is_told_to_be_elsewhere(self, attempt, origin):
        origin.faults(fail={"every": 1, "status": 301, "region": "eu-north-1"})
        assert "is in the region eu-north-1, not us-east-1" in attempt("mount with --s3-region eu-north-1")

    def test_an_endpoint_with_a_password(self, attempt):
        assert "hunter2" not in attempt("environment or a file", endpoint="http://me:hunter2@127.0.0.1:1")

    def test_a_store_that_keeps_failing(self, attempt, origin):
        origin.faults(fail={"every": 1, "status": 503})
        attempt("try again later", options=["--source-timeout", "2s"])

    def test_no_credentials_at_all(self, attempt):
        said = attempt("--anonymous", AWS_ACCESS_KEY_ID="", AWS_SECRET_ACCESS_KEY="",
                       AWS_EC2_METADATA_DISABLED="true")
        assert "no S3 credentials" in said


def test_a_scan_that_fails_leaves_nothing_behind(place, origin):
    for i in range(50):
        origin.put(f"d{i}/f", b"x")
    origin.faults(fail={"every": 1, "status": 500, "on": "list"})
    done = run([WINNOW, "mount", "s3://data", place.mountpoint, "--s3-endpoint", origin.endpoint, "--state-dir",
                place.state, "--source-timeout", "2s"], env=origin.environment(place), check=False)
    assert done.returncode == 1 and done.stderr.count(b"\n") == 1, done.stderr
    assert not place.state.exists() and not os.listdir(place.mountpoint)
