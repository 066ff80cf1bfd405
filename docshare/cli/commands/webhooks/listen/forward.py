"""Handing a delivery on to programs of the developer, byte for byte, so that they can verify it themselves."""

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from docshare.cli.framework.exits import ExitCode, Stop

_MAX_RESPONSE_BYTES = 64 * 1024
_BLOCK = 1024
_BAD_GATEWAY = 502
# What belongs to one connection and not to the delivery; requests sets its own.
_CONNECTION_HEADERS = frozenset(
    ("host", "connection", "content-length", "transfer-encoding", "accept-encoding", "keep-alive", "te", "upgrade")
)


class ForwardResult(NamedTuple):
    """How handing on to ``url`` went: ``status`` of the answer, 0 when there was none; ``ms`` until then; ``error`` why
    there was none; ``response`` what was answered, None where nobody asked for it."""

    url: str
    status: int
    ms: int
    error: str = ""
    response: str | None = None

    @property
    def taken(self) -> bool:
        """Whether the program took the delivery: any 2xx, as of every receiver of webhooks."""
        return 200 <= self.status < 300

    def row(self) -> dict[str, Any]:
        """As ``--json`` prints it."""
        row: dict[str, Any] = {"url": self.url, "status": self.status, "ms": self.ms}
        if self.error:
            row["error"] = self.error
        if self.response is not None:
            row["response"] = self.response
        return row


class Forwarder(NamedTuple):
    """``urls``: where every delivery goes; ``timeout`` seconds each; ``verify``: whether certificates must be good;
    ``show``: keep what was answered."""

    urls: tuple[str, ...]
    timeout: float
    verify: bool
    show: bool

    def send(self, headers: Mapping[str, str], body: bytes, urls: Sequence[str] | None = None) -> list[ForwardResult]:
        """Post ``body`` with its ``headers`` to all ``urls`` (None: to every one) at once; how that went, in order."""
        targets = self.urls if urls is None else tuple(urls)
        if not targets:
            return []
        kept = {name: value for name, value in headers.items() if name.lower() not in _CONNECTION_HEADERS}
        with ThreadPoolExecutor(len(targets)) as pool:
            return list(pool.map(lambda url: self._post(url, kept, body), targets))

    def _post(self, url: str, headers: Mapping[str, str], body: bytes) -> ForwardResult:
        import requests

        began = time.monotonic()
        status, error, response = 0, "", None
        try:
            with requests.Session() as http:
                http.trust_env = False  # no proxy, and nothing of ~/.netrc, stands between this and the developer
                http.headers.clear()
                answer = http.post(
                    url,
                    data=body,
                    headers=dict(headers),
                    timeout=self.timeout,
                    verify=self.verify,
                    allow_redirects=False,
                    stream=True,
                )
                status = answer.status_code
                response = self._beginning(answer, began) if self.show else None
        except requests.Timeout:
            error = f"no answer within {self.timeout:g} s"
        except requests.exceptions.SSLError:
            error = "its certificate is not trusted; see --insecure-forward"
        except requests.ConnectionError:
            error = "cannot be reached"
        except (requests.RequestException, ValueError) as strange:
            error = f"the exchange failed: {type(strange).__name__}"
        return ForwardResult(url, status, round((time.monotonic() - began) * 1000), error, response)

    def _beginning(self, answer: Any, began: float) -> str:
        """What was answered, up to a point in bytes and in time."""
        found = bytearray()
        for block in answer.iter_content(_BLOCK):
            found += block
            if len(found) >= _MAX_RESPONSE_BYTES or time.monotonic() - began > self.timeout:
                break
        return bytes(found[:_MAX_RESPONSE_BYTES]).decode("utf-8", "replace")


def combine_statuses(forwards: Sequence[ForwardResult]) -> int:
    """The status for whoever delivered: that of the first program that did not take it, so that the server tries
    again."""
    from http.client import responses

    failed = next((forward for forward in forwards if not forward.taken), None)
    if failed is None:
        return 200
    return failed.status if failed.status >= 400 and failed.status in responses else _BAD_GATEWAY


def check_forward_url(url: str, option: str = "--forward-to") -> str:
    """``url`` as ``option`` takes it. Stop (2) for what is no http or https address."""
    try:
        parts = urlsplit(url)
        fits = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        fits = False
    if not fits:
        raise Stop(ExitCode.USAGE, f"{option}: {url!r} is no address", hint="As in http://localhost:3000/hook")
    return url
