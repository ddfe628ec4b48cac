"""Our client is honest: the source contract, and a mount, over S3 servers that are not ours. Both are installed once,
into the user's cache folder; where one cannot be had, the run says so and why."""
import hashlib
import os
import shutil
import socket
import subprocess
from pathlib import Path
from urllib.parse import quote

import pytest

from failure_test import assert_one_sentence
from processes import Server, run, wait_until
from s3_origin import without_settings
from settings import SLOWDOWN, SUPPORT, WINNOW
from trees import some_bytes

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "winnow-tests"
CONTRACT = SUPPORT.parent / "cache" / "cache_test"
ACCESS_KEY, SECRET_KEY = "test-key", "test-secret/+="
INSTALL_SECONDS = 240


def install(name, program, commands):
    """The program, installed by `commands` if it is not there yet."""
    if program.exists():
        return program
    CACHE.mkdir(parents=True, exist_ok=True)
    for words in commands:
        try:
            done = subprocess.run(words, capture_output=True, text=True, timeout=INSTALL_SECONDS,
                                  env={**os.environ, "GOBIN": str(CACHE)})
            reason = done.stderr.strip().splitlines()[-1:] if done.returncode else None
        except (OSError, subprocess.TimeoutExpired) as error:
            reason = [str(error)]
        if reason is not None:
            pytest.skip(f"{name} cannot be had: {words[0]} failed: {' '.join(reason)[:300]}")
    return program


def moto():
    return install("moto", CACHE / "moto/bin/moto_server",
                   [["/usr/bin/python3", "-m", "venv", CACHE / "moto"],
                    [CACHE / "moto/bin/pip", "install", "-q", "moto[server]"]])


def versitygw():
    go = shutil.which("go") or "go"
    return install("versitygw", CACHE / "versitygw", [[go, "install", "github.com/versity/versitygw/cmd/versitygw@latest"]])


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def answers(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class Store(Server):
    def __init__(self, words, port, environment):
        self.endpoint = f"http://127.0.0.1:{port}"
        super().__init__(words, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(lambda: answers(port), f"{words[0]} answers", 30)


@pytest.fixture(params=["moto", "versitygw"])
def server(request, place):
    port = free_port()
    clean = without_settings(place.environment)
    if request.param == "moto":
        started = Store([moto(), "-H", "127.0.0.1", "-p", str(port)], port, clean)
    else:
        root = place.root / "buckets"
        root.mkdir()
        (root / "data").mkdir()
        started = Store([versitygw(), "--port", f"127.0.0.1:{port}", "posix", root], port,
                         {**clean, "ROOT_ACCESS_KEY": ACCESS_KEY, "ROOT_SECRET_KEY": SECRET_KEY})
    started.name = request.param
    if request.param == "moto":
        run(["curl", "-sSf", "--noproxy", "*", "-X", "PUT", f"{started.endpoint}/data"])
    yield started
    started.clean_up()


@pytest.fixture
def environment(place):
    return {**without_settings(place.environment), "AWS_ACCESS_KEY_ID": ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": SECRET_KEY}


@pytest.mark.limit(INSTALL_SECONDS + 120)
def test_the_source_contract_holds(server, environment):
    done = run([CONTRACT, "--gtest_filter=Sources/SourceContract.*/S3:S3Keys.*", "--gtest_brief=1"], check=False,
               timeout=100 * SLOWDOWN, env={**environment, "WINNOW_TEST_S3_ENDPOINT": server.endpoint})
    assert done.returncode == 0, f"{server.name}: {(done.stdout + done.stderr).decode(errors='replace')[-3000:]}"
    assert b"tests from 2 test suites ran" in done.stdout


@pytest.mark.limit(INSTALL_SECONDS + 60)
@pytest.mark.parametrize("server", ["versitygw"], indirect=True)  # moto looks at no signature
def test_a_wrong_secret_is_told(server, environment, place):
    done = run([WINNOW, "mount", "s3://data", place.mountpoint, "--s3-endpoint", server.endpoint, "--state-dir",
                place.state], check=False, env={**environment, "AWS_SECRET_ACCESS_KEY": "wrong"})
    assert_one_sentence(done, "check the secret key")
    assert not place.state.exists()


@pytest.mark.limit(INSTALL_SECONDS + 60)
def test_a_mount_shows_and_reads_it(server, environment, mount, place):
    """Put there by curl, so that nothing of ours is on both sides."""
    contents = {f"d{i % 3}/f {i}": some_bytes(i * 1000, seed=i) for i in range(12)}
    for key, content in contents.items():
        (place.root / "body").write_bytes(content)
        run(["curl", "-sSf", "--noproxy", "*", "--aws-sigv4", "aws:amz:us-east-1:s3", "--user",
             f"{ACCESS_KEY}:{SECRET_KEY}", "-T", place.root / "body", f"{server.endpoint}/data/{quote(key)}",
             "-H", f"x-amz-content-sha256: {hashlib.sha256(content).hexdigest()}"])
    mounted = mount("--s3-endpoint", server.endpoint, source="s3://data", environment=environment)
    for key, content in contents.items():
        assert (mounted / key).read_bytes() == content
