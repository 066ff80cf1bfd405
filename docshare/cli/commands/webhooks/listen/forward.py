"""Forward a delivery to receivers byte for byte, so that they can verify it."""

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http.client import responses
from typing import Any
from urllib.parse import urlsplit

from docshare.cli.framework.exits import ExitCode, Stop

_MAX_RESPONSE_BYTES = 64 * 1024
_BLOCK = 1024
_BAD_GATEWAY = 502
# Headers of the connection, not of the delivery; requests sets its own.
_CONNECTION_HEADERS = frozenset(
    ("host", "connection", "content-length", "transfer-encoding", "accept-encoding", "keep-alive", "te", "upgrade")
)


@dataclass(frozen=True)
class ForwardResult:
    """The result of forwarding to ``url``. ``status`` is 0 without a response, ``error`` says why there was none,
    ``ms`` is the duration, and ``response`` the response body if requested."""

    url: str
    status: int
    ms: int
    error: str = ""
    response: str | None = None

    @property
    def is_accepted(self) -> bool:
        """Return whether the receiver accepted the delivery with a 2xx status."""
        return 200 <= self.status < 300

    def row(self) -> dict[str, Any]:
        """Return the result as ``--json`` prints it."""
        row: dict[str, Any] = {"url": self.url, "status": self.status, "ms": self.ms}
        if self.error:
            row["error"] = self.error
        if self.response is not None:
            row["response"] = self.response
        return row


@dataclass(frozen=True)
class Forwarder:
    """Forwards each delivery to ``urls``. ``timeout`` is in seconds; ``verify`` checks TLS certificates;
    ``keep_responses`` keeps the responses."""

    urls: tuple[str, ...]
    timeout: float
    verify: bool
    keep_responses: bool

    def send(self, headers: Mapping[str, str], body: bytes, urls: Sequence[str] | None = None) -> list[ForwardResult]:
        """Post ``body`` with ``headers`` to ``urls`` (None: all) in parallel, and return the results in order."""
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
                http.trust_env = False  # no proxies and no ~/.netrc
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
                response = self._read_response_start(answer, began) if self.keep_responses else None
        except requests.Timeout:
            error = f"no response within {self.timeout:g} s"
        except requests.exceptions.SSLError:
            error = "certificate not trusted; see --insecure-forward"
        except requests.ConnectionError:
            error = "connection failed"
        except (requests.RequestException, ValueError) as failure:
            error = f"request failed: {type(failure).__name__}"
        return ForwardResult(url, status, round((time.monotonic() - began) * 1000), error, response)

    def _read_response_start(self, answer: Any, began: float) -> str:
        """Return the start of the response body, limited in bytes and time."""
        found = bytearray()
        for block in answer.iter_content(_BLOCK):
            found += block
            if len(found) >= _MAX_RESPONSE_BYTES or time.monotonic() - began > self.timeout:
                break
        return bytes(found[:_MAX_RESPONSE_BYTES]).decode("utf-8", "replace")


def combine_statuses(forwards: Sequence[ForwardResult]) -> int:
    """Return the status for the server: that of the first receiver that rejected the delivery, so that the server
    retries."""
    failed = next((forward for forward in forwards if not forward.is_accepted), None)
    if failed is None:
        return 200
    return failed.status if failed.status >= 400 and failed.status in responses else _BAD_GATEWAY


def check_forward_url(url: str, option: str = "--forward-to") -> str:
    """Return ``url``. Raise Stop (2), naming ``option``, if it is not an http or https URL."""
    try:
        parts = urlsplit(url)
        fits = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        fits = False
    if not fits:
        raise Stop(
            ExitCode.USAGE, f"{option}: {url!r} is not an http or https URL", hint="Example: http://localhost:3000/hook"
        )
    return url
