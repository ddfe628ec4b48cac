"""What stands beside a store, each on loopback: those who issue credentials, and a proxy."""
import datetime
import json
import select
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from s3_origin import ACCESS_KEY, SECRET_KEY


class Service:
    """An HTTP server whose answers a test decides: answer(method, path, headers, body) gives (status, text)."""

    def __init__(self, answer):
        self.requests, self.answer = [], answer
        service = self

        class Handler(BaseHTTPRequestHandler):
            def serve(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
                service.requests.append((self.command, self.path, dict(self.headers), body))
                status, text = service.answer(self.command, self.path, self.headers, body)
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


class Tunnel(Service):
    """A proxy that lets through what CONNECT asks for, and notes it."""

    def __init__(self):
        super().__init__(lambda *_: (502, "only CONNECT"))
        self.server.RequestHandlerClass.do_CONNECT = lambda handler: self.connect(handler)
        self.targets = []

    def connect(self, handler):
        self.targets.append(handler.path)
        host, port = handler.path.split(":")
        with socket.create_connection((host, int(port))) as there:
            handler.send_response(200)
            handler.end_headers()
            ends = {handler.connection: there, there: handler.connection}
            while True:
                for end in select.select(list(ends), [], [])[0]:
                    part = end.recv(1 << 16)
                    if not part:
                        return
                    ends[end].sendall(part)
