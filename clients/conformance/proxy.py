"""The proxy between a client and the program: it records the requests of each case and injects the case's faults.

A case has its own prefix of the path (`/17/topics/...`), so that cases run at the same time. README.md lists the
faults.
"""

import http.client
import json
import re
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlencode, urlsplit

HOP_BY_HOP = {"connection", "transfer-encoding", "keep-alive", "content-length", "date"}
# The state of a live stream is looked at this often.
LIVE_SECONDS = 0.1


class CaseTraffic:
    """A case's faults, and the requests that its client has sent."""

    def __init__(self, program, restart, live):
        self.program, self.restart, self.live = program, restart, live
        self.requests, self.faults = [], []
        self.ended = False
        self.lock = threading.Lock()

    def fault_of(self, request):
        """Takes the first fault that matches. A fault counts for one request unless it says `times`."""
        with self.lock:
            self.requests.append(request)
            for fault in self.faults:
                method, _, place = fault.get("request", "").partition(" ")
                if method not in ("", "ANY", request["method"]) or not re.search(place, request["target"]):
                    continue
                if fault.get("skip", 0) > 0:
                    fault["skip"] -= 1
                    continue
                if fault.get("times", 1) > 0:
                    fault["times"] = fault.get("times", 1) - 1
                    return fault
        return {}


class Proxy(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.cases = {}
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request, client_address):
        """A client that goes away is no error."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # A response is written in several pieces, and the last must not wait for an acknowledgement.
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def do_GET(self):
        _, number, rest = self.path.split("/", 2)
        case = self.server.cases[number]
        target = "/" + rest
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        url = urlsplit(target)
        fault = case.fault_of(
            {
                "method": self.command,
                "target": target,
                "path": url.path,
                "query": dict(parse_qsl(url.query)),
                "headers": {name.lower(): value for name, value in self.headers.items()},
                "body": json.loads(body) if body else None,
                "at": time.monotonic(),
            }
        )
        try:
            self.respond(case, target, body, fault)
        except (ConnectionError, http.client.HTTPException):
            self.hang_up()

    do_PUT = do_POST = do_PATCH = do_DELETE = do_GET

    def respond(self, case, target, body, fault):
        is_live = urlsplit(target).path.endswith("/live")
        if "delay" in fault:
            time.sleep(fault["delay"])
        if fault.get("drop") == "before":
            return self.hang_up()
        if "meanwhile" in fault:
            ask(case.program(), **fault["meanwhile"])
        if "stream" in fault:
            return self.stream(case, fault)
        if "answer" in fault and not fault.get("forward"):
            return self.answer(**fault["answer"])
        if is_live and case.live == "emulated":
            return self.emulate(case, target, fault)
        if case.live == "none" and is_live:
            return self.answer(404, problem={"code": "route-not-found"})
        if case.live == "none" and "wait=" in target:
            errors = [{"path": "/wait", "message": "is not a known field"}]
            return self.answer(400, problem={"code": "invalid-query", "errors": errors})
        connection, response = send(case.program(), self.command, target, body, self.headers)
        if fault.get("drop") == "after":
            response.read()
            if "restart" in fault:
                case.restart(**fault["restart"])
            return self.hang_up()
        if "answer" in fault:
            response.read()
            return self.answer(**fault["answer"])
        self.forward(response, fault)
        connection.close()

    def forward(self, response, fault):
        is_stream = response.headers.get("Content-Type", "").startswith("text/event-stream")
        content = b"" if is_stream else response.read()
        self.send_response(response.status)
        for name, value in response.headers.items():
            if name.lower() not in HOP_BY_HOP:
                self.send_header(name, value)
        if is_stream:
            self.send_header("Connection", "close")
        else:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if "cut" in fault:
            self.wfile.write(content[: fault["cut"]])
            return self.hang_up()
        self.wfile.write(content)
        if is_stream:
            self.pipe(response, fault.get("cut_after"))

    def pipe(self, response, frames):
        """Passes a stream on, and cuts it after some frames that are events."""
        for line in response:
            self.wfile.write(line)
            self.wfile.flush()
            if frames is not None and line.startswith(b"data:"):
                frames -= 1
                if frames <= 0:
                    self.wfile.write(b"\n")
                    return self.hang_up()
        self.hang_up()

    def answer(self, status, headers=None, body=None, text=None, problem=None):
        if problem is not None:
            title = problem["code"]
            body = {"type": f"urn:lately:problem:{title}", "title": title, "status": status, "detail": title, **problem}
        content = (text if text is not None else "" if body is None else json.dumps(body)).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/problem+json" if problem else "application/json")
        for name, value in (headers or {}).items():
            self.send_header(name, str(value))
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def begin_stream(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()

    def frame(self, event, data=None, id=None):
        lines = [f"event: {event}"]
        lines += [f"id: {id}"] if id else []
        lines += [f"data: {json.dumps(data)}"] if data is not None else []
        self.write("\n".join(lines) + "\n\n")

    def write(self, text):
        self.wfile.write(text.encode())
        self.wfile.flush()

    def stream(self, case, fault):
        """Sends the frames of a case."""
        self.begin_stream()
        for frame in fault["stream"]:
            if "raw" in frame:
                self.write(frame["raw"])
            else:
                self.frame(**frame)
        while fault.get("then") == "hold" and not case.ended:
            time.sleep(LIVE_SECONDS)
        self.hang_up()

    def emulate(self, case, target, fault):
        """The live route, for a program that does not have it yet: made of oldest-first pages."""
        url = urlsplit(target)
        query = dict(parse_qsl(url.query))
        path = url.path.removesuffix("/live")
        path += "" if path.startswith("/feeds/") else "/events"
        filters = {name: query[name] for name in ("type", "topic") if name in query}
        cursor = self.headers.get("Last-Event-ID") or query.get("cursor")

        def page(**more):
            asked = f"{path}?{urlencode({**filters, **more})}"
            return send(case.program(), "GET", asked, b"", self.headers)[1]

        response = page(limit=1, **({"cursor": cursor} if cursor else {}))
        if response.status != 200:
            return self.forward(response, {})
        cursor = cursor or json.load(response)["newer"]
        frames = fault.get("cut_after")
        self.begin_stream()
        while not case.ended:
            found = json.load(page(limit=1, cursor=cursor))
            cursor = found["next"]
            if found["events"]:
                self.frame("event", found["events"][0], cursor)
                frames = frames and frames - 1
                if frames == 0:
                    return self.hang_up()
            else:
                self.frame("settled", id=cursor)
                time.sleep(LIVE_SECONDS)

    def hang_up(self):
        self.close_connection = True
        try:
            self.connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def send(program, method, target, body, headers):
    """Sends a request to the program. Returns the connection and its response."""
    connection = http.client.HTTPConnection(urlsplit(program).netloc, timeout=60)
    kept = {name: value for name, value in headers.items() if name.lower() not in HOP_BY_HOP | {"host"}}
    connection.request(method, target, body=body or None, headers=kept)
    return connection, connection.getresponse()


def ask(program, method, path, body=None, token="dev", headers=None):
    """A request of the suite itself. Returns the status and the body."""
    content = None if body is None else json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json", **(headers or {})}
    connection, response = send(program, method, path, content, headers)
    text = response.read()
    connection.close()
    return response.status, json.loads(text) if text else None
