"""A populated instance: a real server with a resource of each kind, its request log, and the shell of a Pro user.

A resource of a line of ``command_table.py`` is created when a line needs it. ``{file}`` has been read, commented on and
downloaded; a resource that a command consumes is created again each time.
"""

from __future__ import annotations

import io
import ipaddress
import json
import re
import shlex
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from docshare.contract.signing import sign
from docshare.server.api.early_verdict import make_judge
from docshare.server.api.problems import build_error_refusal
from docshare.server.http.listener import bind_sockets, make_server
from docshare.server.http.verdicts import RequestHead, Verdict
from docshare.server.pdf.engine import PdfEngine
from tests.support.clock import START, FakeClock
from tests.support.documents.images import make_picture
from tests.support.documents.pdfs import simple_pdf
from tests.support.outside.design_tool import DesignTool, open_design_tool
from tests.support.outside.fake_api import BASE, FakeTime, problem
from tests.support.outside.import_source import make_certificate
from tests.support.outside.receivers import (
    LOOPBACK_NETWORKS,
    FakeReceiver,
    add_webhook,
    deliver_until_idle,
    open_receiver,
)
from tests.support.owner.browser import put_settings, sign_in_browser
from tests.support.people.cast import World, close_world, make_runtime, make_world
from tests.support.people.reader import FakeReader, end_all_sessions
from tests.support.people.triggers import FORM, post_trigger
from tests.support.repository import ROOT
from tests.support.servers.in_process_server import run_in_thread
from tests.support.shell import CommandResult, Shell

SECRET = "whsec_" + "7e57" * 16
_TRIGGERED_KINDS = ("file.downloaded", "note.created", "receipt.confirmed", "proofing.updated", "gate.completed")
_FEEDBACK_SETTINGS = {
    "commentsEnabled": True, "commentsAllowPublic": True, "askReceipt": True, "marksEnabled": True,
    "annotationsEnabled": True,
}  # fmt: skip
_AMPLE_LIMIT = 1_000_000  # requests per minute


class SeenRequest(NamedTuple):
    """A request as the server saw it; ``path`` does not include the query."""

    method: str
    path: str
    operation: str

    @property
    def is_read(self) -> bool:
        """Return whether the request changes nothing."""
        return self.method == "GET" or self.operation == "design.status"


def load_operations() -> dict[str, tuple[str, re.Pattern[str]]]:
    """Return each operation of the API description: its name, its method and the pattern of its path."""
    document = yaml.safe_load((ROOT / "docshare/server/api/openapi.yaml").read_text())
    return {
        operation["operationId"]: (method.upper(), re.compile(re.sub(r"\{\w+\}", "[^/]+", path)))
        for path, item in document["paths"].items()
        for method, operation in item.items()
        if isinstance(operation, dict) and "operationId" in operation
    }


class PopulatedInstance:
    """``instance(line)`` runs a line as Pia. ``requests``: the requests since ``forget_requests``; ``bodies``: method,
    path and value of those with a JSON body; ``change_response`` may modify a response; ``remaining_responses``: how
    many requests succeed before all fail."""

    def __init__(self, studio: DesignTool, receiver: FakeReceiver, folder: Path, address: str) -> None:
        self.studio, self.world, self.folder = studio, studio.world, folder
        self.receiver = receiver
        self.requests: list[SeenRequest] = []
        self.bodies: list[tuple[str, str, Any]] = []
        self.change_response: Callable[[Any], Any] | None = None
        self.remaining_responses: float = float("inf")
        self.shell = Shell(folder / "home", address, FakeTime())
        self.shell.env["DOCSHARE_TOKEN"] = self.world.pia.key
        self.shell.env["DOCSHARE_DATA_DIR"] = str(self.world.rt.config.data_dir)
        self._operations = load_operations()
        self._created: dict[str, str] = {}
        self._count = 0

    def __call__(self, line: str, *options: str, tty: bool = False, **how: Any) -> CommandResult:
        """Run a line of the table with more ``options``; ``tty``: on a terminal."""
        words = self.split_line(line)
        self.shell.tty = tty
        try:
            return self.shell(*words, *options, **how)
        finally:
            self.shell.tty = False

    def split_line(self, line: str) -> list[str]:
        """Split a line of the table into arguments, with placeholders filled in."""
        return shlex.split(self.fill_line(line))

    def fill_line(self, line: str) -> str:
        """Replace the placeholders of ``line`` by resources of this instance."""
        return re.sub(r"\{(\w+)\}", lambda found: self.get_or_create(found[1]), line)

    def forget_requests(self) -> None:
        """Clear the request log."""
        self.requests.clear()
        self.bodies.clear()

    def record_request(self, method: str, path: str) -> None:
        """Append a request to the log."""
        names = [name for name, (verb, form) in self._operations.items() if verb == method and form.fullmatch(path)]
        # A fixed path is the better match: /files/claim is not a file.
        name = next((name for name in names if self._operations[name][1].pattern == path), names[0] if names else "")
        self.requests.append(SeenRequest(method, path, name))

    def get_or_create(self, name: str) -> str:
        """Return the resource with that name; create it if it does not exist or every line consumes one."""
        make: Callable[[], str] = getattr(self, f"_{name}")
        if name in ("own", "guest", "key", "trashed", "spare", "claim", "out", "old", "delivery", "slug", "sharing"):
            return make()
        if name not in self._created:
            self._created[name] = make()
        return self._created[name]

    # --- files ------------------------------------------------------------------------------------------------------

    def _file(self) -> str:
        made = self.world.pia.upload(simple_pdf(pages=3), "offer.pdf")
        self._created["link"] = made["shareUrl"]
        self._created["variant"] = self._link_for("Ann", made["shortId"])
        reader = FakeReader(self.world, made["shortId"])
        assert reader.read_page(7, 1, input=True) == 204
        assert reader.leave() == 204
        end_all_sessions(self.world)
        put_settings(self.world, made, **_FEEDBACK_SETTINGS)
        add_webhook(self.world.pia, self.receiver.url, *_TRIGGERED_KINDS)
        for kind in _TRIGGERED_KINDS:
            if kind == "gate.completed":
                put_settings(self.world, made, gateFields=FORM)
            answer = post_trigger(self.world, kind, made["shortId"])
            assert answer.status_code == 200, answer.text
        deliver_until_idle(self.world, self.world.rt)
        return str(made["shortId"])

    def _link(self) -> str:
        self.get_or_create("file")
        return self._created["link"]

    def _own(self) -> str:
        return str(self.world.pia.upload(simple_pdf(pages=2))["shortId"])

    def _key(self) -> str:
        made = self.world.pia.post("/api/v1/keys", json={"name": "spare", "scopes": ["files:read"]})
        return str(made.get_json()["uuid"])

    def _slug(self) -> str:
        self._count += 1
        return f"fresh-{self._count}"

    def _trashed(self) -> str:
        made = self.world.pia.upload(simple_pdf(pages=2))
        assert self.world.pia.delete(f"/api/v1/files/{made['uuid']}").status_code == 200
        return str(made["uuid"])

    def _visit(self) -> str:
        answer = self.world.pia.get(f"/api/v1/files/{self.get_or_create('file')}/readership/sessions?since=1&limit=10")
        return str(answer.get_json()[-1]["sessionId"])

    def _variant(self) -> str:
        self.get_or_create("file")
        return self._created["variant"]

    def _guest(self) -> str:
        self._count += 1
        return self._link_for(f"Guest {self._count}", self.get_or_create("file"))

    def _link_for(self, label: str, file: str) -> str:
        answer = self.world.pia.post(f"/api/v1/files/{file}/variants", json={"label": label})
        assert answer.status_code in (200, 201), answer.text
        return str(answer.get_json()["uuid"])

    # --- webhooks ---------------------------------------------------------------------------------------------------

    def _hook(self) -> str:
        return self.receiver.url

    def _webhook(self) -> str:
        self.get_or_create("file")
        rows = self.world.pia.get("/api/v1/webhooks").get_json()["webhooks"]
        return str(rows[-1]["uuid"])

    def _delivery(self) -> str:
        deliver_until_idle(self.world, self.world.rt)
        rows = self.world.pia.get(f"/api/v1/webhooks/{self.get_or_create('webhook')}/deliveries?limit=5").get_json()
        return str(rows[-1]["id"])

    def _spare(self) -> str:
        return self._create_webhook("spare")[0]

    def _old(self) -> str:
        return self._create_webhook("old")[1]

    def _create_webhook(self, word: str) -> tuple[str, str]:
        """Return UUID and address of a new webhook; delete the one before, as an account is limited to 25."""
        for row in self.world.pia.get("/api/v1/webhooks").get_json()["webhooks"]:
            if row["url"].startswith(f"{self.receiver.url}-{word}"):
                self.world.pia.delete(f"/api/v1/webhooks/{row['uuid']}")
        self._count += 1
        address = f"{self.receiver.url}-{word}-{self._count}"
        return add_webhook(self.world.pia, address).uuid, address

    # --- files on this machine --------------------------------------------------------------------------------------

    def _write_file(self, name: str, content: str | bytes) -> str:
        path = self.folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return str(path)

    def _deck(self) -> str:
        return self._write_file("deck.pdf", simple_pdf(pages=2))

    def _logo(self) -> str:
        return self._write_file("logo.png", make_picture())

    def _out(self) -> str:
        self._count += 1
        return str(self.folder / f"out-{self._count}")

    def _sharing(self) -> str:
        self._count += 1
        name = f"applied-{self._count}"  # a document that no other test uploads
        wish = {"path": self._write_file(f"{name}.pdf", simple_pdf()), "settings": {"slug": name}}
        return self._write_file(f"share-{self._count}.yaml", yaml.safe_dump({"version": 1, "files": [wish]}))

    def _settings(self) -> str:
        return self._write_file("settings.json", '{"viewLimit": 4}')

    def _body(self) -> str:
        return self._write_file("body.json", '{"event":"file.viewed"}')

    def _secret(self) -> str:
        return self._write_file("secret.txt", SECRET)

    def _signature(self) -> str:
        return sign(SECRET, b'{"event":"file.viewed"}', int(BASE * 1000))

    def _saved(self) -> str:
        sample = self.shell("webhooks", "sample", "file.viewed").out.strip()
        return self._write_file("saved.jsonl", json.dumps({"body": sample}) + "\n")

    def _claim(self) -> str:
        made = self.world.http.post("/api/files", data={"file": (io.BytesIO(simple_pdf()), "leaflet.pdf")})
        assert made.status_code == 200, made.text
        return self._write_file("claim.txt", made.get_json()["claimToken"])

    # --- the design tool --------------------------------------------------------------------------------------------

    def _source(self) -> str:
        return self.studio.source.url()

    def _jwt(self) -> str:
        return self._write_file("user.jwt", self.studio.make_user_token())

    def _design(self) -> str:
        return self._write_file("design.jwt", self.studio.make_design_token("fresh"))

    def _published(self) -> str:
        self.studio.import_design()
        return self._write_file("published.jwt", self.studio.make_design_token())

    # --- a browser session ------------------------------------------------------------------------------------------

    def _session(self) -> str:
        """Return the options that make a request come from her browser session."""
        browser = sign_in_browser(self.world, self.world.pia)
        cookie = "; ".join(f"{each.key}={each.value}" for each in browser._cookies.values())
        token = re.search(r'name="csrf" value="([^"]+)"', browser.get("/login").text)
        assert token is not None
        names = {"Cookie": cookie, "X-CSRF-Token": token[1], "Origin": self.shell.env["DOCSHARE_URL"]}
        files = {name: self._write_file(f"{name}.txt", value) for name, value in names.items()}
        return "--no-auth " + " ".join(f"-H '{name}: @{path}'" for name, path in files.items())

    # --- local state ------------------------------------------------------------------------------------------------

    def _cursor(self) -> str:
        assert self.shell("events", "cursor", "set", "nightly", "start").code == 0
        return "nightly"


@contextmanager
def open_populated_instance(folder: Path, engine: PdfEngine) -> Iterator[PopulatedInstance]:
    """Run the server of a populated instance for the length of the block."""
    with ExitStack() as held:
        instances: list[PopulatedInstance] = []
        address = held.enter_context(_serve_before_instance(instances))

        def make(**settings: Any) -> World:
            clock = FakeClock(START)
            world = make_world(make_runtime(folder / "data", clock, engine, base_url=address, **settings), clock)
            held.callback(close_world, world)
            return world

        receiver = held.enter_context(open_receiver())
        cert = make_certificate(folder)
        plenty = {"rate_limit": _AMPLE_LIMIT, "address_limit": _AMPLE_LIMIT}
        studio = held.enter_context(
            open_design_tool(cert, make, webhook_allow=LOOPBACK_NETWORKS, anonymous_uploads=True, **plenty)
        )
        studio.world.rt.outbound.resolve = lambda host: [ipaddress.ip_address("127.0.0.1")]
        instance = PopulatedInstance(studio, receiver, folder, address)
        instances.append(instance)
        _add_profiles(instance.shell)
        assert instance.shell("whoami").code == 0  # otherwise the first upload would fetch the account
        instance.get_or_create(
            "file"
        )  # and a visit, a link and an event of each kind, so that no test depends on another
        yield instance


@contextmanager
def _serve_before_instance(instances: list[PopulatedInstance]) -> Iterator[str]:
    """Yield the address of a server that starts before its instance exists, so that the instance knows it."""

    def judge(head: RequestHead) -> Verdict:
        instance = instances[0]
        instance.record_request(head.method, head.path)
        return make_judge(instance.world.rt)(head)

    server = make_server(
        lambda environ, start_response: _respond(instances[0], environ, start_response),
        bind_sockets("127.0.0.1", 0),
        judge=judge,
        create_partial=lambda: instances[0].world.rt.blobs.create_partial(),
        render_error=lambda status, path, detail: build_error_refusal(instances[0].world.rt, status, path, detail),
    )
    with run_in_thread(server) as address:
        yield address


def _respond(
    instance: PopulatedInstance, environ: dict[str, Any], start_response: Callable[..., Any]
) -> Iterable[bytes]:
    """Return the response of the application; ``instance.change_response`` may modify its JSON."""
    if environ.get("CONTENT_TYPE") == "application/json":
        body = environ["wsgi.input"].read()
        environ["wsgi.input"] = io.BytesIO(body)
        instance.bodies.append((environ["REQUEST_METHOD"], environ["PATH_INFO"], json.loads(body)))
    instance.remaining_responses -= 1
    if instance.remaining_responses < 0:
        start_response("500 Internal Server Error", [("Content-Type", "application/problem+json")])
        return [json.dumps(problem(500, "internal").body).encode()]
    if instance.change_response is None:
        return instance.world.app(environ, start_response)
    environ.pop("HTTP_ACCEPT_ENCODING", None)  # a compressed response could not be modified
    begun: list[Any] = []
    answer = instance.world.app(environ, lambda *begin: begun.extend(begin))
    status, headers, *_ = begun
    if not any(name.lower() == "content-type" and "json" in value for name, value in headers):
        start_response(status, headers)
        return answer
    with closing(answer):
        body = json.dumps(instance.change_response(json.loads(b"".join(answer)))).encode()
    kept = [(name, value) for name, value in headers if name.lower() != "content-length"]
    start_response(status, [*kept, ("Content-Length", str(len(body)))])
    return [body]


def _add_profiles(shell: Shell) -> None:
    """Add two profiles: ``work`` with an API key, ``granted`` with an OAuth token."""
    for name in ("work", "granted"):
        add = ("profile", "add", name, "--url", shell.env["DOCSHARE_URL"], "--with-token")
        assert shell(*add, stdin=b"key-of-a-profile\n").code == 0
    path = shell.home / "config" / "credentials.json"
    saved = json.loads(path.read_text())
    saved["profiles"]["granted"] |= {"refresh": "refresh-of-a-profile", "client_id": "docshare-cli"}
    path.write_text(json.dumps(saved))
