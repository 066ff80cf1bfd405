"""Receive the redirect from an OAuth consent page, as a request to 127.0.0.1 or as a pasted URL (RFC 8252)."""

import hmac
import queue
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from docshare.cli.framework.exits import ExitCode, Stop

if TYPE_CHECKING:
    from docshare.cli.framework.context import Context

CALLBACK_PATH = "/callback"
_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>docshare</title><style>body{{font:18px/1.5 system-ui,sans-serif;display:grid;place-items:center;min-height:90vh;
margin:0;color-scheme:light dark}}</style><main><p>{words}</p></main></html>"""
_DONE = "You are signed in. You can close this page and return to the terminal."
_NOT_DONE = "Access was denied. You can close this page and return to the terminal."
_UNKNOWN = "This URL does not belong to the login in the terminal."

ConsentResponse = Mapping[str, str]
"""The query parameters of the redirect."""


class ConsentListener:
    """A local listener for the redirect of one login, identified by its secret ``state``.

    Raise Stop (2) if ``port`` (0: any free one) is in use.
    """

    def __init__(self, state: str, port: int) -> None:
        self._state = state
        self._answers: queue.Queue[ConsentResponse] = queue.Queue()
        try:
            self._server = ThreadingHTTPServer(("127.0.0.1", port), self._make_handler_class())
        except OSError as error:
            raise Stop(ExitCode.USAGE, f"cannot listen on port {port}: {error.strerror or error}") from error
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.1,), daemon=True)
        self._thread.start()

    @property
    def redirect_uri(self) -> str:
        """Return the redirect URI for the consent page."""
        return f"http://127.0.0.1:{self._server.server_address[1]}{CALLBACK_PATH}"

    def wait_for_response(self, seconds: float) -> ConsentResponse:
        """Wait for the redirect and return its parameters. Raise Stop (124) after ``seconds``."""
        try:
            return self._answers.get(timeout=seconds)
        except queue.Empty:
            hint = "Try again. If no browser can reach this machine, use an API key with --with-token."
            raise Stop(ExitCode.DEADLINE, "timed out waiting for the consent page", hint=hint) from None

    def read_from_terminal(self, context: "Context") -> None:
        """Also read a pasted redirect URL from the terminal, for browsers on another machine."""

        def read() -> None:
            for line in iter(context.stdin.readline, ""):
                answer = self._parse_response(line.strip())
                if answer is not None:
                    self._answers.put(answer)
                elif line.strip():
                    context.err("This is not the redirect URL of this login. Paste the whole URL.", "warn")

        threading.Thread(target=read, name="paste", daemon=True).start()

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _parse_response(self, address: str) -> ConsentResponse | None:
        """Return the parameters of the URL ``address`` if it is the redirect of this login."""
        parts = urlsplit(address)
        found = {name: values[0] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
        known = hmac.compare_digest(found.get("state", "").encode(), self._state.encode())
        if parts.path != CALLBACK_PATH or not known or not found.keys() & {"code", "error"}:
            return None
        return found

    def _make_handler_class(self) -> type[BaseHTTPRequestHandler]:
        read, answers = self._parse_response, self._answers

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                answer = read(self.path)
                words = _UNKNOWN if answer is None else _DONE if "code" in answer else _NOT_DONE
                self._respond(404 if answer is None else 200, _PAGE.format(words=words))
                if answer is not None:
                    answers.put(answer)  # last, because it ends the program, and the page must be sent before

            def _respond(self, status: int, page: str) -> None:
                body = page.encode()
                self.send_response(status)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.send_header("Cache-Control", "no-store")
                self.send_header("Referrer-Policy", "no-referrer")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                """Log nothing, because the URLs contain codes."""

        return Handler
