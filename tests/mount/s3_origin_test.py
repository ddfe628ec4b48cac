"""The test origin is honest: clients that are not ours list it, read it and find their own signature accepted."""
import filecmp
import os
import subprocess
import time

import pytest

from processes import force_unmount, is_mounted, run, wait_until
from s3_origin import ACCESS_KEY, BUCKET, SECRET_KEY, Origin, without_settings
from trees import make_files, some_bytes

ODD_NAMES = ["with space", "per%cent", "pl+us", "ünïcode 漢字", "am&per'sand\"<>", "#hash?mark=1"]


@pytest.fixture
def origin(place):
    """With everything that makes a client's life hard."""
    make_files(place.source / "many", 1100, 40)  # more than one page
    make_files(place.source / "deep/er", 5, (1000, 200_000))
    (place.source / "big").write_bytes(some_bytes(12_000_000))
    for name in ODD_NAMES:
        (place.source / name).write_bytes(name.encode())
    started = Origin(folder=place.source)
    yield started
    started.clean_up()


def rclone(place, origin, *words, secret=SECRET_KEY, **options):
    environment = {**without_settings(place.environment), "RCLONE_CONFIG_O_TYPE": "s3",
                   "RCLONE_CONFIG_O_PROVIDER": "Other", "RCLONE_CONFIG_O_ENDPOINT": origin.endpoint,
                   "RCLONE_CONFIG_O_ACCESS_KEY_ID": ACCESS_KEY, "RCLONE_CONFIG_O_SECRET_ACCESS_KEY": secret,
                   "RCLONE_CONFIG_O_REGION": "us-east-1"}
    return run(["rclone", "--config", "/dev/null", "--retries", "1", "--low-level-retries", "1", *words],
               env=environment, **options)


@pytest.mark.parametrize("version", ["1", "2"])
def test_rclone_finds_every_name_and_byte(place, origin, version):
    done = rclone(place, origin, "check", place.source, f"o:{BUCKET}", "--download", "--s3-list-version", version)
    text = done.stderr.decode()
    assert "0 differences found" in text and f"{1100 + 5 + 1 + len(ODD_NAMES)} matching files" in text, text


def test_rclone_is_refused_with_a_wrong_secret(place, origin):
    done = rclone(place, origin, "lsf", f"o:{BUCKET}", secret="wrong", check=False)
    assert done.returncode != 0 and b"SignatureDoesNotMatch" in done.stderr
    assert rclone(place, origin, "lsf", f"o:{BUCKET}").returncode == 0


def test_s3fs_mounts_it_and_reads_the_same(place, origin):
    secret = place.root / "secret"
    secret.write_text(f"{ACCESS_KEY}:{SECRET_KEY}")
    secret.chmod(0o600)
    process = subprocess.Popen(
        ["s3fs", BUCKET, place.mountpoint, "-f", "-o", f"url={origin.endpoint}", "-o", "use_path_request_style", "-o",
         f"passwd_file={secret}", "-o", "endpoint=us-east-1", "-o", "sigv4", "-o", "listobjectsv2"],
        env=without_settings(place.environment), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: is_mounted(place.mountpoint), "s3fs mounts")
        assert sorted(os.listdir(place.mountpoint)) == sorted(os.listdir(place.source))
        assert len(os.listdir(place.mountpoint / "many")) == 1100
        for name in ["big", *ODD_NAMES, *(f"deep/er/f{i:05d}" for i in range(5))]:
            assert filecmp.cmp(place.source / name, place.mountpoint / name, shallow=False), name
    finally:
        force_unmount(place.mountpoint)
        process.kill()
        process.wait()


def read(origin, key, timeout=10):
    """Unsigned, by curl."""
    return run(["curl", "-sS", "--noproxy", "*", "--max-time", str(timeout), f"{origin.endpoint}/{BUCKET}/{key}"],
               check=False)


def test_it_does_on_command_what_it_says(place):
    origin = Origin("--anonymous")
    try:
        content = some_bytes(100_000)
        origin.put("a", content)
        assert read(origin, "a").stdout == content
        origin.faults(fail={"next": 1, "status": 500})
        assert b"InternalError" in read(origin, "a").stdout
        assert read(origin, "a").stdout == content
        origin.faults(reset={"next": 1})
        assert read(origin, "a").returncode in (52, 56)
        origin.faults(truncate={"next": 1})
        assert read(origin, "a").returncode == 18
        origin.faults(stall={"next": 1})
        assert read(origin, "a", timeout=1).returncode == 28
        origin.faults(trickle={"next": 1})
        slow = read(origin, "a", timeout=1)
        assert slow.returncode == 28 and 20 < len(slow.stdout) < 1000
        origin.faults(corrupt={"next": 1})
        wrong = read(origin, "a").stdout
        assert len(wrong) == len(content) and sum(a != b for a, b in zip(wrong, content)) == 1
        assert read(origin, "a").stdout == content
        assert origin.counts()["gets"]["a"] == 8  # the 500 was no GET of an object
        assert [line["fault"] for line in origin.log()] == ["", "fail", "", "reset", "truncate", "stall", "trickle",
                                                        "corrupt", ""]
    finally:
        origin.clean_up()


def test_latency_and_bandwidth_are_what_was_asked_for(place):
    origin = Origin("--anonymous")
    try:
        origin.put("a", some_bytes(2_000_000))
        origin.faults(latency_ms=50, bandwidth=4_000_000)
        began = time.monotonic()
        assert len(read(origin, "a").stdout) == 2_000_000
        passed = time.monotonic() - began
        assert 0.54 < passed < 2, passed
    finally:
        origin.clean_up()


def test_only_so_many_are_served_at_once_as_were_asked_for(place):
    origin = Origin("--anonymous")
    try:
        origin.put("a", b"content")
        origin.faults(concurrency=2, latency_ms=300)
        clients = [subprocess.Popen(["curl", "-sS", "--noproxy", "*", f"{origin.endpoint}/{BUCKET}/a"],
                                    stdout=subprocess.PIPE) for _ in range(5)]
        answers = [client.communicate()[0] for client in clients]
        assert answers.count(b"content") == 2 and sum(b"SlowDown" in answer for answer in answers) == 3, answers
        assert read(origin, "a").stdout == b"content"
    finally:
        origin.clean_up()
