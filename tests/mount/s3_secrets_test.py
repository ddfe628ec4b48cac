"""Credentials appear nowhere: in no file, log, status, command line or error, wherever they come from."""
from pathlib import Path

import pytest

from mounts import winnow
from processes import run
from s3_origin import ACCESS_KEY, SECRET_KEY
from s3_services import instance, metadata, sts
from settings import WINNOW
from trees import some_bytes

IDENTITY, BEARER, TOKEN = "identity-token-nobody-may-see", "bearer-token-nobody-may-see", "session-token-nobody-may-see"
SECRETS = [ACCESS_KEY, SECRET_KEY, IDENTITY, BEARER, TOKEN]


def fill(origin):
    for i in range(4):
        origin.put(f"f{i}", some_bytes(1000, seed=i))


def assert_no_secrets(said):
    for secret in SECRETS:
        assert secret.encode() not in said, secret


def everything_said(place, mounted):
    """All that a stranger could look at: state files, status, metrics, the mount table and command lines."""
    texts = [path.read_bytes() for path in place.state.rglob("*") if path.is_file()]
    texts += [(mounted / ".winnow/status.json").read_bytes(), (mounted / ".winnow/metrics").read_bytes()]
    texts += [Path("/proc/self/mountinfo").read_bytes(), winnow("status", mounted.path).stdout]
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = process.read_bytes()
        except OSError:
            continue
        if b"origin" not in words.split(b"\0")[0]:  # of the test's own origin, the secret is no secret
            texts.append(words)
    return b"\n".join(texts)


def from_environment(place, service):
    return {"AWS_ACCESS_KEY_ID": ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": SECRET_KEY, "AWS_SESSION_TOKEN": TOKEN}, None


def from_sts(place, service):
    issuer = service(lambda *_: (200, sts(TOKEN)))
    (place.root / "token").write_text(IDENTITY)
    return {"AWS_WEB_IDENTITY_TOKEN_FILE": str(place.root / "token"), "AWS_ROLE_ARN": "arn:aws:iam::1:role/r",
            "AWS_ENDPOINT_URL_STS": issuer.url}, issuer


def from_container(place, service):
    issuer = service(lambda *_: (200, metadata(TOKEN)))
    return {"AWS_CONTAINER_CREDENTIALS_FULL_URI": issuer.url, "AWS_CONTAINER_AUTHORIZATION_TOKEN": BEARER}, issuer


def from_instance(place, service):
    issuer = service(instance(TOKEN))
    return {"AWS_EC2_METADATA_SERVICE_ENDPOINT": issuer.url, "AWS_EC2_METADATA_DISABLED": "false"}, issuer


PLACES = [from_environment, from_sts, from_container, from_instance]


@pytest.mark.parametrize("credentials", PLACES)
def test_they_appear_nowhere(place, origin, mount_s3, bare, service, credentials):
    fill(origin)
    origin.account(session_token=TOKEN)
    settings, issuer = credentials(place, service)
    mounted = mount_s3(origin, "--log-level", "debug", "--source-timeout", "1s", environment={**bare, **settings})
    (mounted / "f0").read_bytes()
    origin.faults(fail={"next": 2, "status": 500})
    (mounted / "f1").read_bytes()
    # And where it goes wrong: the store refuses them, and whoever issued them says too much.
    origin.account(session_token="another")
    if issuer:
        issuer.answer = lambda *_: (500, f"<Error>{SECRET_KEY} {TOKEN} {IDENTITY} {BEARER}</Error>")
    with pytest.raises(OSError):
        (mounted / "f2").read_bytes()
    done = mounted.winnow("refresh", mounted.path, check=False)
    assert done.returncode == 1
    said = everything_said(place, mounted) + done.stderr
    assert b"s3://data" in said and b"--life-fd" in said  # it did look
    assert_no_secrets(said)


@pytest.mark.parametrize("credentials", PLACES)
def test_a_mount_that_is_refused_does_not_tell_them(place, origin, bare, service, credentials):
    settings, issuer = credentials(place, service)
    origin.account(session_token="another")

    def assert_refused_without():
        done = run([WINNOW, "mount", "s3://data", place.mountpoint, "--s3-endpoint", origin.endpoint, "--state-dir",
                    place.state], env={**bare, **settings}, check=False)
        assert done.returncode == 1 and done.stderr.count(b"\n") == 1, done.stderr
        assert_no_secrets(done.stderr + done.stdout)

    assert_refused_without()
    if issuer:
        issuer.answer = lambda *_: (200, f"{SECRET_KEY} {TOKEN} {IDENTITY} {BEARER}")
        assert_refused_without()
