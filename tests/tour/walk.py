"""Walks a script: sends its requests, runs its commands, and records what comes back.

A line of a script is a request or a command, with its expected status or exit code first:

    200 pia POST /api/v1/files @deck -> file=uuid link=shortId
    0 docshare files show $link --json

``pia`` sends the request: the name of a credential, ``-`` for none, or a browser with cookies: ``web`` (signed in;
forms and scripts get its CSRF token), ``foreign`` (the same without the token) or ``reader``. The body is JSON, a form
like ``a=1&b=2``, or ``@`` and the name of a sample, sent as a multipart part with further fields. ``->`` stores values
of the answer, by their path in its JSON or by ``/pattern/``; ``$name`` inserts them. ``< NAME`` is the stdin of a
command; ``terminal docshare`` prints to a terminal. ``settle`` waits until no delivery and no mail is queued.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from collections import Counter
from pathlib import Path
from string import Template
from typing import Any
from urllib.parse import parse_qsl

import requests

from tests.support.documents.images import make_picture
from tests.support.documents.pdfs import simple_pdf
from tests.support.polling import wait_until
from tests.tour.answers import describe_response

_REQUEST = re.compile(r"(\d+) (\S+) ([A-Z]+) (\S+)(?: (.*))?")
_COMMAND = re.compile(r"(\d+) (terminal )?docshare ?(.*?)(?: < (\S+))?")
_OPTION = re.compile(r"(?m)^  (?:-\w, )?(--[a-z][\w-]*)(?: / (--[a-z][\w-]*))?")
_CSRF = re.compile(r'name="csrf" value="([^"]+)"')
_BROWSER = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36"
SAMPLES = {
    "deck": ("deck.pdf", simple_pdf(pages=3)),
    "other": ("other.pdf", simple_pdf(pages=2)),
    "applied": ("applied.pdf", simple_pdf(pages=4)),
    "text": ("notes.txt", b"not a document"),
    "logo": ("logo.png", make_picture()),
    "people": ("people.csv", b"label\nAnn\nBen\n"),
    "body": ("body.json", b'{"event":"file.viewed"}'),
    "secret": ("secret.txt", b"whsec_" + b"7e57" * 16),
    "settings": ("settings.json", b'{"viewLimit": 4}'),
    "sharing": ("share.yaml", b"version: 1\nfiles:\n- path: applied.pdf\n  settings: {slug: applied}\n"),
    "saved": ("saved.jsonl", b'{"body": "{\\"event\\":\\"file.viewed\\",\\"data\\":{}}"}\n'),
}
# A process that imports a tree once and forks for each command: starting Python for each would take most of the time.
_RUNNER = """
import atexit, contextlib, gc, importlib, json, os, pkgutil, signal, sys
import requests, docshare.cli, docshare.server.app, docshare.server.config
from runpy import run_module
for found in pkgutil.walk_packages(docshare.cli.__path__, "docshare.cli."):
    if not found.name.endswith("__main__"):
        importlib.import_module(found.name)
gc.freeze()
for line in iter(sys.stdin.readline, ""):
    asked = json.loads(line)
    screen, output = os.openpty() if asked["terminal"] else (None, None)
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        for number, (name, flags) in enumerate(zip(asked["files"], (0, 577, 577))):
            os.dup2(os.open(name, flags, 0o600), number)
        if output is not None:
            os.dup2(output, 1)
        os.chdir(asked["folder"])
        sys.argv = ["docshare", *asked["argv"]]
        try:
            run_module("docshare", run_name="__main__")
            code = 0
        except SystemExit as end:
            code = end.code or 0
        atexit._run_exitfuncs()
        sys.stdout.flush()
        os._exit(code)
    if output is not None:
        os.close(output)
        with open(asked["files"][1], "wb") as file, contextlib.suppress(OSError):
            while block := os.read(screen, 65536):
                file.write(block)
        os.close(screen)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


class Tour:
    """``steps``: what was recorded; ``names``: values that lines insert; ``url``: the server."""

    def __init__(self, python: list[str], env: dict[str, str], folder: Path, url: str, names: dict[str, str]) -> None:
        self.url, self.names, self.folder = url, names, folder
        self.steps: list[dict[str, Any]] = []
        self._count: Counter[str] = Counter()
        self._files = [str(folder / name) for name in ("stdin", "stdout", "stderr")]
        self._sessions = {name: requests.Session() for name in ("-", "web", "reader")}
        for session in self._sessions.values():
            session.headers.update({"User-Agent": _BROWSER, "Accept-Encoding": "identity"})
        self._sessions["reader"].cookies.set("viewer-cookies", "1")
        self._csrf = ""
        for name, content in SAMPLES.values():
            (folder / name).write_bytes(content)
        self._runner = subprocess.Popen(
            [*python, "-c", _RUNNER], env=env, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def close(self) -> None:
        """End the process that runs the commands."""
        self._runner.communicate(timeout=60)
        for session in self._sessions.values():
            session.close()

    def walk(self, script: str) -> None:
        """Walk the lines of ``script``; empty lines and comments are skipped."""
        for line in script.splitlines():
            if line == "settle":
                self._settle()
            elif line and not line.startswith("#"):
                self._walk_line(line)

    def _walk_line(self, line: str) -> None:
        self._count[line] += 1
        name = line if self._count[line] == 1 else f"{line} ({self._count[line]})"
        sent, _, stored = line.partition(" -> ")
        sent = Template(sent).safe_substitute(self.names)
        if match := _COMMAND.fullmatch(sent):
            step, text = self._run_command(shlex.split(match[3]), match[4], terminal=bool(match[2]))
        else:
            match = _REQUEST.fullmatch(sent)
            assert match is not None, line
            step, text = self._send_request(*match.groups()[1:])
        self.steps.append({"step": name, "expected": int(match[1]), **step})
        for pair in stored.split(" ") if stored else ():
            key, _, where = pair.partition("=")
            self.names[key] = _find_value(text, where)

    def _run_command(
        self, argv: list[str], stdin: str | None = None, *, terminal: bool = False
    ) -> tuple[dict[str, Any], str]:
        Path(self._files[0]).write_text(f"{stdin}\n" if stdin else "")
        assert self._runner.stdin is not None
        assert self._runner.stdout is not None
        asked = {"argv": argv, "terminal": terminal, "files": self._files, "folder": str(self.folder)}
        self._runner.stdin.write(json.dumps(asked) + "\n")
        self._runner.stdin.flush()
        code = int(self._runner.stdout.readline())
        out, err = (Path(name).read_text(errors="replace") for name in self._files[1:])
        if terminal:  # the width of a column depends on durations
            out = re.sub(" {2,}", "  ", out)
        separator = "\t" if "\t" in out else "," if "--format" in argv else None
        return {"code": code, "stdout": _parse_output(out, separator), "stderr": err}, out

    def _send_request(self, who: str, method: str, path: str, body: str | None) -> tuple[dict[str, Any], str]:
        session = self._sessions.get("web" if who == "foreign" else who, self._sessions["-"])
        origin = "https://elsewhere.example" if who == "foreign" else self.url
        headers = {"Origin": origin} if who in ("web", "reader", "foreign") else {}
        if who not in self._sessions and who != "foreign":
            headers["Authorization"] = f"Bearer {self.names[who]}"
        more = self._build_body(body or "", self._csrf if who == "web" else "", headers)
        address = path if path.startswith("http") else self.url + path
        response = session.request(method, address, headers=headers, allow_redirects=False, timeout=60, **more)
        if who == "web" and path.startswith("/login/") and method == "POST":
            found = _CSRF.search(session.get(f"{self.url}/login", timeout=60).text)
            self._csrf = found[1] if found else ""
        sent = {"method": method, "path": path.partition("?")[0]}
        text = response.headers["Location"] if response.is_redirect else response.text if response.encoding else ""
        return {"sent": sent, **describe_response(response)}, text

    def _build_body(self, body: str, csrf: str, headers: dict[str, str]) -> dict[str, Any]:
        if csrf:
            headers["X-CSRF-Token"] = csrf
        if body.startswith(("{", "[")):
            headers["Content-Type"] = "application/json"
            return {"data": body.encode()}
        if body.startswith("@"):
            sample, _, fields = body[1:].partition(" ")
            return {"files": {"file": SAMPLES[sample]}, "data": dict(parse_qsl(fields))}
        if not body:
            return {"data": {"csrf": csrf} if csrf else None}
        return {"data": [*parse_qsl(body, keep_blank_values=True), *([("csrf", csrf)] if csrf else [])]}

    def _settle(self) -> None:
        headers = {"Authorization": f"Bearer {self.names['pia']}"}

        def get(path: str) -> Any:
            return self._sessions["-"].get(f"{self.url}/api/v1/webhooks{path}", headers=headers, timeout=60).json()

        def is_idle() -> bool:
            rows = [row for hook in get("")["webhooks"] for row in get(f"/{hook['uuid']}/deliveries")]
            _, mails = self._run_command(["admin", "outbox", "list", "--json"])
            return all(row["state"] != "queued" for row in [*rows, *json.loads(mails)])

        wait_until(is_idle, seconds=60)


def _find_value(text: str, where: str) -> str:
    """Return the value at ``where``, or ``missing``, so that a version that lacks it is still walked to the end."""
    if where.startswith("/"):
        match = re.search(where[1:-1], text)
        return match[1] if match else "missing"
    try:
        value = json.loads(text)
        for key in where.split(".") if where else ():
            value = value[int(key) if isinstance(value, list) else key]
    except (LookupError, ValueError, TypeError):
        return text.strip() if not where else "missing"
    return str(value)


def _parse_output(text: str, separator: str | None) -> Any:
    """Return the JSON that a command printed, a value or one for each line; otherwise rows of cells, or the text, for a
    help text with its options."""
    for read in (json.loads, lambda whole: [json.loads(line) for line in whole.splitlines()]):
        try:
            return read(text) if text else text
        except ValueError:
            pass
    if text.startswith("Usage: "):
        names = {name for pair in _OPTION.findall(text.partition("\nOptions:\n")[2]) for name in pair if name}
        return {"options": sorted(names), "plain": text}
    return {"rows": [line.split(separator) for line in text.splitlines()]} if separator else text
