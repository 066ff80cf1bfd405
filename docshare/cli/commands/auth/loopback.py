"""Waiting for a browser to come back from a consent page: a request to 127.0.0.1, or its address pasted (RFC 8252)."""

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
_DONE = "You are signed in. You can close this page and go back to the terminal."
_NOT_DONE = "Nothing was granted. You can close this page and go back to the terminal."
_UNKNOWN = "This address does not belong to the sign-in that waits in the terminal."

ConsentResponse = Mapping[str, str]
"""The parameters that the consent page sent back."""


class ConsentListener:
    """A listener on this machine that takes the answer to one sign-in; ``state`` is the word only that one knows.

    Raises Stop (2) when the ``port`` (0: any free one) is taken.
    """

    def __init__(self, state: str, port: int) -> None:
        self._state = state
        self._answers: queue.SimpleQueue[ConsentResponse] = queue.SimpleQueue()
        try:
            self._server = ThreadingHTTPServer(("127.0.0.1", port), self._handler())
        except OSError as error:
            raise Stop(ExitCode.USAGE, f"cannot listen on port {port}: {error.strerror or error}") from error
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.1,), daemon=True)
        self._thread.start()

    @property
    def redirect_uri(self) -> str:
        """Where the consent page is to send the browser."""
        return f"http://127.0.0.1:{self._server.server_address[1]}{CALLBACK_PATH}"

    def answer(self, seconds: float) -> ConsentResponse:
        """The answer, once it comes. Stop (124) after ``seconds``."""
        try:
            return self._answers.get(timeout=seconds)
        except queue.Empty:
            hint = "Run it again; where no browser can come back to this machine, give an API key to --with-token."
            raise Stop(ExitCode.DEADLINE, "nobody answered on the consent page in time", hint=hint) from None

    def also_from(self, context: "Context") -> None:
        """Take the address that the browser ended at from the terminal too, for browsers on another machine."""

        def read() -> None:
            for line in iter(context.stdin.readline, ""):
                answer = self._read(line.strip())
                if answer is not None:
                    self._answers.put(answer)
                elif line.strip():
                    context.err("That is not the address this sign-in waits for. Paste it whole.", "warn")

        threading.Thread(target=read, name="paste", daemon=True).start()

    def close(self) -> None:
        """Listen no longer."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _read(self, address: str) -> ConsentResponse | None:
        """The answer in ``address``, if it is one to this very sign-in."""
        parts = urlsplit(address)
        found = {name: values[0] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
        known = hmac.compare_digest(found.get("state", "").encode(), self._state.encode())
        if parts.path != CALLBACK_PATH or not known or not found.keys() & {"code", "error"}:
            return None
        return found

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        read, answers = self._read, self._answers

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                answer = read(self.path)
                words = _UNKNOWN if answer is None else _DONE if "code" in answer else _NOT_DONE
                self._say(404 if answer is None else 200, _PAGE.format(words=words))
                if answer is not None:
                    answers.put(answer)  # last: the program ends on it, and the page must have been sent by then

            def _say(self, status: int, page: str) -> None:
                body = page.encode()
                self.send_response(status)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.send_header("Cache-Control", "no-store")
                self.send_header("Referrer-Policy", "no-referrer")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                """Addresses hold codes, so nothing is logged."""

        return Handler
