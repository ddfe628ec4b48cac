"""The test origin, as tests see it: an S3-compatible server that is slow and wrong on command.
See tests/support/origin/server.h."""
import json
import subprocess
import urllib.parse
import urllib.request

from processes import Server
from settings import SUPPORT

ACCESS_KEY, SECRET_KEY = "AKIDTEST", "secret/with+odd=characters"
BUCKET = "data"


def without_settings(environment):
    """No credentials, endpoints or proxies of whoever runs the tests."""
    return {name: value for name, value in environment.items()
            if not name.startswith("AWS_") and not name.lower().endswith("_proxy")}


class Origin(Server):
    def __init__(self, *options, folder=None):
        words = [SUPPORT / "winnow-test-origin", "--bucket", BUCKET, "--access-key", ACCESS_KEY, "--secret-key",
                 SECRET_KEY, *options]
        if folder:
            words += ["--folder", folder]
        self.scheme = "https" if "--certificate" in options else "http"
        super().__init__(words, stdout=subprocess.PIPE, text=True)
        self.port, self.control_port = map(int, self.process.stdout.readline().split())

    @property
    def endpoint(self):
        return f"{self.scheme}://127.0.0.1:{self.port}"

    def environment(self, place):
        """Of a winnow that may read the bucket."""
        return {**without_settings(place.environment), "AWS_ACCESS_KEY_ID": ACCESS_KEY,
                "AWS_SECRET_ACCESS_KEY": SECRET_KEY}

    def ask(self, method, path, body=b""):
        request = urllib.request.Request(f"http://127.0.0.1:{self.control_port}{path}", data=body or None, method=method)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=20) as answer:
            return json.loads(answer.read())

    def put(self, key, content):
        self.ask("PUT", "/object?key=" + urllib.parse.quote(key, safe=""), content)

    def remove(self, key):
        self.ask("DELETE", "/object?key=" + urllib.parse.quote(key, safe=""))

    def faults(self, **wishes):
        self.ask("POST", "/faults", json.dumps(wishes).encode())

    def clear(self):
        self.ask("POST", "/clear", b"{}")

    def account(self, **wishes):
        self.ask("POST", "/account", json.dumps(wishes).encode())

    def counts(self):
        return self.ask("GET", "/counts")

    def gets(self):
        return self.counts()["operations"].get("get", 0)

    def log(self):
        return self.ask("GET", "/log")
