"""The hosts of a town: HTTPS on port 443 (texts, echo, git, an LLM, WebSocket), and lines on port 5432.

upstream.py FOLDER ADDRESS: the folder has server.pem, server.key, `secret` and repositories below git/;
each request is a line of log.jsonl there, with what its body was.
"""
import base64
import hashlib
import http.server
import json
import os
import pathlib
import socketserver
import ssl
import subprocess
import sys
import threading

FOLDER, ADDRESS = pathlib.Path(sys.argv[1]), sys.argv[2]
SECRET = (FOLDER / "secret").read_text()
LOCK = threading.Lock()


def accepted(key):
    """Sec-WebSocket-Accept, as RFC 6455 says."""
    made = hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()
    return base64.b64encode(made).decode()


class Host(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def body(self):
        if self.headers.get("transfer-encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("content-length", 0)))
        parts = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def answer(self, status, body, **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def serve(self):
        body = self.body()
        host = self.headers["host"].split(":")[0]
        told = {"host": host, "method": self.command, "path": self.path, "bytes": len(body),
                "headers": {name.lower(): value for name, value in self.headers.items()}}
        with LOCK, open(FOLDER / "log.jsonl", "a") as log:
            log.write(json.dumps(told) + "\n")
        if host == "git.test":
            self.git(body)
        elif self.headers.get("upgrade", "").lower() == "websocket":
            self.websocket()
        elif self.path == "/v1/messages":
            self.message()
        elif self.command == "POST":
            self.answer(200, f"{len(body)} {hashlib.sha256(body).hexdigest()}\n".encode())
        else:
            self.answer(200, f"hello from {host}\n".encode())

    do_GET = do_POST = serve

    def message(self):
        if self.headers.get("x-api-key") != SECRET:
            self.answer(401, b"{}")
            return
        said = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-haiku-4-5",
                "content": [{"type": "text", "text": "hi"}], "stop_reason": "end_turn", "stop_sequence": None,
                "usage": {"input_tokens": 11, "output_tokens": 7, "cache_read_input_tokens": 5,
                          "cache_creation_input_tokens": 3}}
        self.answer(200, json.dumps(said).encode(), Content_Type="application/json")

    def git(self, body):
        """git http-backend, for who has the secret."""
        if self.headers.get("authorization") != "Basic " + base64.b64encode(
                f"x-access-token:{SECRET}".encode()).decode():
            self.answer(401, b"who are you?\n", WWW_Authenticate='Basic realm="git"')
            return
        path, _, query = self.path.partition("?")
        environment = {
            "PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": str(FOLDER / "git"), "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": path, "QUERY_STRING": query, "REQUEST_METHOD": self.command, "REMOTE_USER": "agent",
            "CONTENT_TYPE": self.headers.get("content-type", ""), "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("content-encoding", ""),
            "GIT_PROTOCOL": self.headers.get("git-protocol", ""), "HOME": str(FOLDER)}
        done = subprocess.run(["git", "-c", "safe.directory=*", "http-backend"], input=body, env=environment,
                              capture_output=True, check=True)
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        self.answer(int(headers.pop("Status", "200").split()[0]), content, **headers)

    def websocket(self):
        """Sends one short text back, in capitals."""
        self.send_response(101)
        for name, value in (("Upgrade", "websocket"), ("Connection", "Upgrade"),
                            ("Sec-WebSocket-Accept", accepted(self.headers["sec-websocket-key"]))):
            self.send_header(name, value)
        self.end_headers()
        _, size = self.rfile.read(2)
        mask, text = self.rfile.read(4), self.rfile.read(size & 0x7F)
        text = bytes(byte ^ mask[at % 4] for at, byte in enumerate(text)).upper()
        self.wfile.write(bytes([0x81, len(text)]) + text)
        self.close_connection = True


class Lines(socketserver.StreamRequestHandler):
    """Another protocol than HTTP: the server speaks first."""

    def handle(self):
        self.wfile.write(b"\x00ready\n")
        for line in self.rfile:
            self.wfile.write(line.strip()[::-1] + b"\n")


class Places(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True
    request_queue_size = 64
    tls = None

    def finish_request(self, request, client_address):
        if self.tls:  # here, so that a slow handshake is nobody else's
            request = self.tls.wrap_socket(request, server_side=True)
        super().finish_request(request, client_address)

    def handle_error(self, request, client_address):
        pass  # who leaves early is no error of ours


context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(FOLDER / "server.pem", FOLDER / "server.key")
https, lines = Places((ADDRESS, 443), Host), Places((ADDRESS, 5432), Lines)
https.tls = context
threading.Thread(target=lines.serve_forever, daemon=True).start()
print("ready", flush=True)
https.serve_forever()
