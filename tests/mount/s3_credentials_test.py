"""Every place credentials can come from, each served on loopback; renewal before they expire; and who goes first."""
import itertools
import threading
import time

import pytest

from failure_test import Attempt
from processes import wait_until
from s3_origin import ACCESS_KEY, SECRET_KEY
from s3_services import instance, metadata, sts
from settings import SLOWDOWN


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


PLACES = ["environment", "web identity", "profile", "container", "instance"]


@pytest.mark.parametrize("first", PLACES)
def test_the_first_place_that_has_any_wins(serves, bare, place, origin, service, first):
    """All places from `first` on are set up, each with a token of its own; the store takes only that of the first."""
    issuers = {"web identity": service(lambda *_: (200, sts("web identity"))),
               "container": service(lambda *_: (200, metadata("container"))),
               "instance": service(instance("instance"))}
    (place.root / "c").write_text(f"[default]\n{KEYS}aws_session_token=profile\n")
    settings = {
        "environment": {"AWS_ACCESS_KEY_ID": ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
                        "AWS_SESSION_TOKEN": "environment"},
        "web identity": web_identity(place, issuers["web identity"].url),
        "profile": {"AWS_SHARED_CREDENTIALS_FILE": str(place.root / "c")},
        "container": {"AWS_CONTAINER_CREDENTIALS_FULL_URI": issuers["container"].url},
        "instance": {"AWS_EC2_METADATA_SERVICE_ENDPOINT": issuers["instance"].url, "AWS_EC2_METADATA_DISABLED": "false"},
    }
    origin.account(session_token=first)
    environment = dict(bare)
    for name in PLACES[PLACES.index(first):]:
        environment.update(settings[name])
    serves(environment)
    asked = [name for name, issuer in issuers.items() if issuer.requests]
    assert asked == [name for name in issuers if name == first], "the places behind it are not asked"


def test_paths_may_be_relative(serves, bare, place, monkeypatch):
    """The worker has left the working directory by then, and so has that of a new version."""
    (place.root / "c").write_text(f"[default]\n{KEYS}")
    monkeypatch.chdir(place.root)
    mounted = serves({**bare, "AWS_SHARED_CREDENTIALS_FILE": "c"})
    mounted.winnow("upgrade", mounted.path)
    mounted.pid = mounted.status()["pid"]
    assert mounted.refresh()["files"] == 1


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


def test_keys_that_were_replaced_are_looked_up_again(bare, origin, mount_s3, place):
    """Without a token, so that nothing about them says that they will."""
    file = place.root / "c"
    file.write_text(f"[default]\n{KEYS}")
    for name in ("a", "b"):
        origin.put(name, name.encode())
    mounted = mount_s3(origin, environment={**bare, "AWS_SHARED_CREDENTIALS_FILE": str(file)})
    assert (mounted / "a").read_bytes() == b"a"
    file.write_text("[default]\n" + profile(aws_access_key_id="AKIDNEW", aws_secret_access_key="new"))
    origin.account(access_key="AKIDNEW", secret_key="new")
    assert (mounted / "b").read_bytes() == b"b"


def test_a_refusal_without_words_is_not_answered_with_new_credentials_for_ever(bare, origin, mount_s3, service):
    """The answer to a HEAD cannot say why it is 403: new credentials are asked for once, then it is what it is."""
    numbers = itertools.count()
    issuer = service(lambda *_: (200, metadata(f"token-{next(numbers)}")))
    origin.put("file", b"old")
    origin.account(any_token=True)
    mounted = mount_s3(origin, environment={**bare, "AWS_CONTAINER_CREDENTIALS_FULL_URI": issuer.url})
    asked = len(issuer.requests)
    origin.put("file", b"new")
    origin.faults(fail={"every": 1, "status": 403, "on": "head"})
    began = time.monotonic()
    with pytest.raises(PermissionError):
        (mounted / "file").read_bytes()
    assert time.monotonic() - began < 3 * SLOWDOWN
    assert 1 <= len(issuer.requests) - asked <= 2


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

    @pytest.mark.parametrize("name", ["AWS_ENDPOINT_URL_STS", "AWS_CONTAINER_CREDENTIALS_FULL_URI",
                                      "WINNOW_CONTAINER_CREDENTIALS_HOST", "AWS_EC2_METADATA_SERVICE_ENDPOINT"])
    def test_an_address_with_a_password(self, refuses, place, name):
        settings = {"AWS_EC2_METADATA_DISABLED": "false"}
        if name == "AWS_ENDPOINT_URL_STS":
            settings |= web_identity(place, "")
        if name == "WINNOW_CONTAINER_CREDENTIALS_HOST":
            settings |= {"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/x"}
        said = refuses(f"{name} must not hold", **{**settings, name: "http://me:hunter2@127.0.0.1:1"})
        assert "hunter2" not in said

    def test_a_token_file_of_a_profile_by_a_relative_path(self, refuses, place):
        (place.root / "c").write_text("[profile p]\n" + profile(role_arn="arn", web_identity_token_file="token"))
        refuses("write the whole path", options=["--s3-profile", "p"], AWS_CONFIG_FILE=str(place.root / "c"))

    def test_an_instance_without_a_role(self, refuses, service):
        def answer(method, *_):
            return (200, "token") if method == "PUT" else (404, "")
        refuses("role", AWS_EC2_METADATA_DISABLED="false",
                AWS_EC2_METADATA_SERVICE_ENDPOINT=service(answer).url)
