"""How the store is reached: HTTP/2 where it is offered, connections that are kept, certificates that are looked at, and
proxies as the environment has them."""
import os
import subprocess

import pytest

from failure_test import Attempt
from processes import Server, run, wait_until
from s3_foreign_test import answers, free_port
from s3_origin import Origin
from s3_services import Tunnel, metadata
from s3_test import fill


def assert_reads(mounted, contents):
    for key, content in contents.items():
        assert (mounted / key).read_bytes() == content


def certificate(folder, name="IP:127.0.0.1"):
    files = folder / "cert.pem", folder / "key.pem"
    run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", "/CN=test", "-addext", f"subjectAltName={name}", "-out", files[0], "-keyout", files[1]])
    return files


@pytest.fixture
def tls_origin(tmp_path):
    """tls_origin(name): an origin with a certificate for that name, and the certificate."""
    started = []

    def start(name="IP:127.0.0.1"):
        chain, key = certificate(tmp_path, name)
        started.append(Origin("--certificate", chain, "--key", key))
        return started[-1], chain

    yield start
    for origin in started:
        origin.clean_up()


def test_connections_are_kept(origin, mount_s3):
    contents = fill(origin, 60)
    mounted = mount_s3(origin, "--prefetch", "0")
    origin.clear()
    assert_reads(mounted, contents)
    counts = origin.counts()
    assert counts["requests"] == 60 and counts["connections"] <= 5, counts


class HttpTwo(Server):
    """nghttpx: TLS and HTTP/2 in front of an origin that speaks neither."""

    def __init__(self, origin, folder):
        chain, key = certificate(folder)
        self.log = folder / "requests"
        port = free_port()
        self.endpoint = f"https://127.0.0.1:{port}"
        self.ca_file = chain
        super().__init__(["nghttpx", "--conf=/dev/null", f"--frontend=127.0.0.1,{port}",
                          f"--backend=127.0.0.1,{origin.port}", "--workers=1", f"--accesslog-file={self.log}",
                          "--accesslog-format=$alpn $status $request", key, chain],
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(lambda: answers(port), "nghttpx answers")

    def lines(self):
        return self.log.read_text().splitlines()


@pytest.fixture
def http_two(origin, tmp_path):
    started = HttpTwo(origin, tmp_path)
    yield started
    started.clean_up()


def test_http_2_where_it_is_offered(place, origin, http_two, mount):
    contents = fill(origin)
    mounted = mount("--s3-endpoint", http_two.endpoint, "--ca-file", http_two.ca_file, source="s3://data",
                    environment=origin.environment(place))
    assert_reads(mounted, contents)
    wait_until(lambda: len(http_two.lines()) > len(contents), "its log has them")
    assert all(line.startswith("h2 200 GET ") for line in http_two.lines()), http_two.lines()


def refused(place, origin, *options):
    place.environment = origin.environment(place)
    return Attempt(place)("--ca-file", source="s3://data", options=["--s3-endpoint", origin.endpoint, *options])


def test_a_certificate_must_be_trusted(place, mount, tls_origin):
    origin, chain = tls_origin()
    contents = fill(origin)
    assert "certificate" in refused(place, origin)
    mounted = mount("--s3-endpoint", origin.endpoint, "--ca-file", os.path.relpath(chain), source="s3://data",
                    environment=origin.environment(place))
    assert_reads(mounted, contents)


def test_a_certificate_must_be_for_the_host(place, tls_origin):
    origin, chain = tls_origin("DNS:store.example")
    assert "certificate" in refused(place, origin, "--ca-file", chain)
    assert origin.counts()["requests"] == 0


def test_virtual_host_addressing(place, origin, mount):
    contents = fill(origin)
    mounted = mount("--s3-endpoint", f"http://localhost:{origin.port}", "--s3-addressing", "virtual",
                    source="s3://data", environment=origin.environment(place))
    assert_reads(mounted, contents)
    assert all(not line["target"].startswith("/data") for line in origin.log())


@pytest.fixture
def tunnel():
    started = Tunnel()
    yield started
    started.close()


def test_a_proxy_is_used_where_the_environment_names_one(place, origin, mount):
    """The origin stands for the proxy: only through it can a host that does not exist be read."""
    contents = fill(origin, 3)
    mounted = mount("--s3-endpoint", "http://store.invalid", source="s3://data",
                    environment={**origin.environment(place), "http_proxy": origin.endpoint})
    assert_reads(mounted, contents)


@pytest.mark.parametrize("exempt", [False, True], ids=["through it", "no_proxy"])
def test_tls_goes_through_a_tunnel_unless_the_host_is_exempt(place, mount, tls_origin, tunnel, exempt):
    origin, chain = tls_origin()
    contents = fill(origin, 3)
    environment = {**origin.environment(place), "https_proxy": tunnel.url}
    if exempt:
        environment["no_proxy"] = "other.example,127.0.0.1"
    mounted = mount("--s3-endpoint", origin.endpoint, "--ca-file", chain, source="s3://data", environment=environment)
    assert_reads(mounted, contents)
    assert set(tunnel.targets) == (set() if exempt else {f"127.0.0.1:{origin.port}"})


def test_a_proxy_never_sees_who_issues_credentials(origin, mount, bare, service):
    contents = fill(origin, 3)
    origin.account(session_token="container")
    issuer = service(lambda *_: (200, metadata("container")))
    mounted = mount("--s3-endpoint", "http://store.invalid", source="s3://data",
                    environment={**bare, "AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{issuer.url}/creds",
                                 "http_proxy": origin.endpoint, "all_proxy": origin.endpoint})
    assert_reads(mounted, contents)
    assert issuer.requests and all("/creds" not in line["target"] for line in origin.log())
