"""Every place credentials can come from, each served on loopback; renewal before they expire; and who goes first."""
import datetime
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from failure_test import Attempt
from processes import wait_until
from s3_origin import ACCESS_KEY, SECRET_KEY, without_settings


class Service:
    """An HTTP server whose answers a test decides: answer(method, path, headers, body) gives (status, text)."""

    def __init__(self, answer):
        self.requests = []
        service = self

        class Handler(BaseHTTPRequestHandler):
            def serve(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
                service.requests.append((self.command, self.path, dict(self.headers), body))
                status, text = answer(self.command, self.path, self.headers, body)
                self.send_response(status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text.encode())

            do_GET = do_PUT = do_POST = serve

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def service():
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


def stamp(seconds):
    then = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds)
    return then.strftime("%Y-%m-%dT%H:%M:%SZ")


def metadata(token="", life=3600):
    return json.dumps({"Code": "Success", "AccessKeyId": ACCESS_KEY, "SecretAccessKey": SECRET_KEY, "Token": token,
                       "Expiration": stamp(life)})


def sts(token, life=3600):
    return f"""<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
      <AssumeRoleWithWebIdentityResult><Credentials><SessionToken>{token}</SessionToken>
      <SecretAccessKey>{SECRET_KEY}</SecretAccessKey><Expiration>{stamp(life)}</Expiration>
      <AccessKeyId>{ACCESS_KEY}</AccessKeyId></Credentials></AssumeRoleWithWebIdentityResult>
      </AssumeRoleWithWebIdentityResponse>"""


@pytest.fixture
def serves(origin, mount_s3):
    """serves(environment, *options): a mount with this environment reads a file."""
    origin.put("file", b"content")

    def check(environment, *options):
        mounted = mount_s3(origin, *options, environment=environment)
        assert (mounted / "file").read_bytes() == b"content"
        return mounted

    return check


def profile(**fields):
    return "".join(f"{name} = {value}\n" for name, value in fields.items())


KEYS = profile(aws_access_key_id=ACCESS_KEY, aws_secret_access_key=SECRET_KEY)
WRONG = profile(aws_access_key_id="wrong", aws_secret_access_key="wrong")


def test_the_environment(serves, bare):
    serves({**bare, "AWS_ACCESS_KEY_ID": ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": SECRET_KEY})


def test_the_environment_with_a_session_token(serves, bare, origin):
    origin.account(session_token="token/+=")
    serves({**bare, "AWS_ACCESS_KEY_ID": ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
            "AWS_SESSION_TOKEN": "token/+="})


def test_the_default_profile_in_the_home(serves, bare, place):
    (place.root / ".aws").mkdir()
    (place.root / ".aws/credentials").write_text(f"[default]\n{KEYS}")
    serves(bare)


def test_a_named_profile_in_files_that_variables_name(serves, bare, place, origin):
    origin.account(session_token="t")
    (place.root / "c").write_text(f"[default]\n{WRONG}[mine]\n{KEYS}aws_session_token=t\n")
    serves({**bare, "AWS_SHARED_CREDENTIALS_FILE": str(place.root / "c")}, "--s3-profile", "mine")


def test_a_profile_given_goes_before_the_environment(serves, bare, place):
    (place.root / "c").write_text(f"[profile mine]\nregion = us-east-1\n{KEYS}")
    serves({**bare, "AWS_CONFIG_FILE": str(place.root / "c"), "AWS_ACCESS_KEY_ID": "wrong",
            "AWS_SECRET_ACCESS_KEY": "wrong"}, "--s3-profile", "mine")


def test_the_environments_keys_go_before_the_profile_that_it_names(serves, bare, place):
    (place.root / "c").write_text(f"[profile mine]\nregion = us-east-1\n{WRONG}")
    serves({**bare, "AWS_CONFIG_FILE": str(place.root / "c"), "AWS_PROFILE": "mine", "AWS_ACCESS_KEY_ID": ACCESS_KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET_KEY})


def test_a_profile_that_the_environment_names(serves, bare, place):
    (place.root / "c").write_text(f"[default]\n{WRONG}[profile mine]\n{KEYS}")
    serves({**bare, "AWS_CONFIG_FILE": str(place.root / "c"), "AWS_PROFILE": "mine"})


def web_identity(place, url):
    (place.root / "token").write_text("identity-token")
    return {"AWS_WEB_IDENTITY_TOKEN_FILE": str(place.root / "token"), "AWS_ROLE_ARN": "arn:aws:iam::1:role/r",
            "AWS_ENDPOINT_URL_STS": url}


def test_a_web_identity_token(serves, bare, place, origin, service):
    origin.account(session_token="from-sts")
    issuer = service(lambda *_: (200, sts("from-sts")))
    serves({**bare, **web_identity(place, issuer.url)})
    method, _, _, body = issuer.requests[0]
    assert method == "POST" and "Action=AssumeRoleWithWebIdentity" in body
    assert "WebIdentityToken=identity-token" in body and "RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fr" in body


def test_a_profile_with_a_web_identity(serves, bare, place, origin, service):
    origin.account(session_token="from-sts")
    issuer = service(lambda *_: (200, sts("from-sts")))
    (place.root / "token").write_text("identity-token")
    (place.root / "c").write_text("[profile p]\n" + profile(role_arn="arn", web_identity_token_file=place.root / "token"))
    serves({**bare, "AWS_CONFIG_FILE": str(place.root / "c"), "AWS_ENDPOINT_URL_STS": issuer.url}, "--s3-profile", "p")


def test_the_container_endpoint_by_a_full_address(serves, bare, origin, service):
    origin.account(session_token="container")
    issuer = service(lambda method, path, headers, _:
                     (200, metadata("container")) if headers["Authorization"] == "Bearer x" else (401, "no"))
    serves({**bare, "AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{issuer.url}/creds",
            "AWS_CONTAINER_AUTHORIZATION_TOKEN": "Bearer x"})


def test_the_container_endpoint_by_a_relative_address_and_a_token_file(serves, bare, place, service):
    issuer = service(lambda method, path, headers, _:
                     (200, metadata()) if (path, headers["Authorization"]) == ("/v2/creds", "file-token") else (401, ""))
    (place.root / "t").write_text("file-token\n")
    serves({**bare, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/v2/creds",
            "WINNOW_CONTAINER_CREDENTIALS_HOST": issuer.url,
            "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": str(place.root / "t")})


def instance(token="", life=3600):
    """Instance metadata, version 2: nothing without the token that a PUT gives."""

    def answer(method, path, headers, _):
        if (method, path) == ("PUT", "/latest/api/token"):
            return (200, "imds") if headers["X-aws-ec2-metadata-token-ttl-seconds"] else (400, "")
        if headers["X-aws-ec2-metadata-token"] != "imds":
            return 401, ""
        if path == "/latest/meta-data/iam/security-credentials/":
            return 200, "the-role\n"
        return (200, metadata(token, life)) if path.endswith("/the-role") else (404, "")

    return answer


def test_the_instance_metadata(serves, bare, origin, service):
    origin.account(session_token="instance")
    del bare["AWS_EC2_METADATA_DISABLED"]
    serves({**bare, "AWS_EC2_METADATA_SERVICE_ENDPOINT": service(instance("instance")).url + "/"})


def test_no_signature_for_a_public_bucket(serves, bare, origin):
    origin.account(anonymous=True)
    serves(bare, "--anonymous")


def test_credentials_are_renewed_before_they_expire(bare, origin, mount_s3, service):
    """Each answer of the endpoint has another token and lives for two seconds; the store takes the newest only."""
    current = {"number": 0}

    def answer(*_):
        current["number"] += 1
        origin.account(session_token=f"token-{current['number']}")
        return 200, metadata(f"token-{current['number']}", life=2)

    for i in range(40):
        origin.put(f"f{i}", bytes([i]) * 100)
    issuer = service(answer)
    mounted = mount_s3(origin, environment={**bare, "AWS_CONTAINER_CREDENTIALS_FULL_URI": issuer.url})
    for i in range(40):
        assert (mounted / f"f{i}").read_bytes() == bytes([i]) * 100
        time.sleep(0.15)
    assert current["number"] >= 3
    assert mounted.status()["fetches"]["failures"] == 0


def test_credentials_the_store_no_longer_takes_are_replaced(bare, origin, mount_s3, place):
    """As a tool does that rewrites the shared file."""
    origin.account(session_token="old")
    file = place.root / "c"
    file.write_text(f"[default]\n{KEYS}aws_session_token=old\n")
    for name in ("a", "b"):
        origin.put(name, name.encode())
    mounted = mount_s3(origin, environment={**bare, "AWS_SHARED_CREDENTIALS_FILE": str(file)})
    assert (mounted / "a").read_bytes() == b"a"
    origin.account(session_token="new")
    threading.Timer(0.5, lambda: file.write_text(f"[default]\n{KEYS}aws_session_token=new\n")).start()
    assert (mounted / "b").read_bytes() == b"b"
    wait_until(lambda: (mounted / "b").exists(), "it goes on")


class TestRefusals:
    @pytest.fixture
    def refuses(self, place, origin, bare):
        def check(*advice, options=(), **environment):
            place.environment = {**bare, **environment}
            return Attempt(place)(*advice, source="s3://data", options=["--s3-endpoint", origin.endpoint, *options])

        return check

    def test_a_profile_that_is_not_there(self, refuses):
        assert "'nobody'" in refuses("--s3-profile", options=["--s3-profile", "nobody"])

    def test_a_profile_that_needs_another_program(self, refuses, place):
        (place.root / "c").write_text("[profile p]\ncredential_process = /bin/x\n")
        refuses("environment", options=["--s3-profile", "p"], AWS_CONFIG_FILE=str(place.root / "c"))

    def test_a_token_file_that_is_not_there(self, refuses, place):
        refuses("AWS_WEB_IDENTITY_TOKEN_FILE", AWS_WEB_IDENTITY_TOKEN_FILE=str(place.root / "none"), AWS_ROLE_ARN="r")

    def test_an_issuer_that_refuses(self, refuses, place, service):
        said = refuses("AWS_ROLE_ARN", **web_identity(place, service(lambda *_: (403, "<Error/>")).url))
        assert "403" in said and "identity-token" not in said

    def test_a_container_endpoint_that_is_away(self, refuses):
        refuses("AWS_CONTAINER_CREDENTIALS", AWS_CONTAINER_CREDENTIALS_FULL_URI="http://127.0.0.1:1/")

    def test_an_instance_without_a_role(self, refuses, service):
        def answer(method, *_):
            return (200, "token") if method == "PUT" else (404, "")
        refuses("role", AWS_EC2_METADATA_DISABLED="false",
                AWS_EC2_METADATA_SERVICE_ENDPOINT=service(answer).url)
