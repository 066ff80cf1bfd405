"""The framework of ``docshare doctor``: run tables of checks, each with a deadline, and mask private data."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docshare.cli.local.settings import resolve_setting
from docshare.client.address import parse_address
from docshare.client.errors import NotAnApi, TimedOut
from docshare.client.http.call import Call
from docshare.contract.findings import ERROR, DiagnosticFinding, run_check, skipped_finding

if TYPE_CHECKING:
    import requests

    from docshare.cli.framework.context import Context

_BLOCK_BYTES = 64 * 1024  # bytes
_MAX_BODY_BYTES = 16 * _BLOCK_BYTES  # more than any response to a check
TIMEOUT_S = 5.0
"""The seconds that a check waits for a server."""

_IPV6_GROUPS = "[0-9a-f]{1,4}(?::[0-9a-f]{1,4})*"
_IPV6 = re.compile(
    rf"(?<![\w:])(?!::1\b|::/0)(?:(?:[0-9a-f]{{1,4}}:){{7}}[0-9a-f]{{1,4}}|(?:{_IPV6_GROUPS})?::(?:{_IPV6_GROUPS})?)(?![\w:])",
    re.IGNORECASE,
)
_MASKS = (
    (re.compile(r"[\w.+-]+@[\w.-]+\.\w+"), "<email>"),
    (re.compile(r"(?<=://)(?!127\.|localhost\b|\[::1\])[^\s/:,;\"']+"), "<host>"),
    (re.compile(r"(?<![\w/.:>])/[\w.@-]+(?:/[\w.@-]+)+"), "<path>"),
    (re.compile(r"\b(?!127\.)\d{1,3}(?:\.\d{1,3}){3}\b(?!/0)"), "<address>"),
    (_IPV6, "<address>"),
    (re.compile(r"\b(?:ds_[a-z]+_|whsec_)\w+"), "<secret>"),
)
_MIN_PRIVATE_CHARS = 3  # a shorter name would match unrelated text


@dataclass(frozen=True)
class ProbeResponse:
    """The response of a server."""

    status_code: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """Parse the body as JSON. Raise ValueError if it is not JSON."""
        return json.loads(self.body)


@dataclass
class CheckContext:
    """Shared by the checks. ``data`` is the data directory of the option, ``requested_tests`` are optional checks for
    the server, ``body`` is the maximum bytes to send through the public address, and ``private`` maps private text to
    its mask in a bug report."""

    ctx: "Context"
    data: Path | None = None
    requested_tests: dict[str, str] = field(default_factory=dict)
    body: int = 0
    private: dict[str, str] = field(default_factory=dict)

    def mask(self, text: object, mask: str) -> None:
        """Mask ``text`` as ``mask`` in bug reports."""
        if text and len(str(text)) >= _MIN_PRIVATE_CHARS:
            self.private[str(text)] = mask

    def get(self, url: str, *, with_token: bool = False) -> "ProbeResponse":
        """Send GET ``url`` like the API client: through the proxies of the environment, without a login of
        ``~/.netrc``.

        Raise BadAddress if the credential would be sent unencrypted, and TransportError without a response.
        """
        import requests  # here: the group "program" reports a broken library, so it must not need one

        from docshare.client.http.failures import translate_error
        from docshare.client.http.transport import Bearer

        connection = self.ctx.connection
        allowed = bool(resolve_setting(self.ctx, "allow_http").value)
        parse_address(str(connection.url.value), with_token=with_token, allow_http=allowed)
        with self.session() as http:
            http.auth = bearer = Bearer(connection.token if with_token else None, connection.origin)
            bearer.load()
            try:
                # Passed explicitly, because requests prefers its environment variable to the session.
                with http.get(url, timeout=TIMEOUT_S, allow_redirects=False, verify=http.verify, stream=True) as answer:
                    return ProbeResponse(answer.status_code, answer.headers, _read_body(answer))
            except requests.RequestException as error:
                failure = translate_error(error, Call("GET", ""), connection.origin)
                if isinstance(failure, TimedOut):
                    failure.hint = "The server is stopped or overloaded, or a proxy delays requests."
                raise failure from error

    def session(self) -> "requests.Session":
        """Return a session that uses the configured CA bundle and sends no login."""
        import requests

        from docshare.client.http.transport import Bearer

        session = requests.Session()
        session.auth = Bearer(None, "")
        session.verify = resolve_setting(self.ctx, "ca_bundle").value or True
        return session


def _read_body(answer: "requests.Response") -> bytes:
    """Return the body of ``answer``. Raise NotAnApi if it is too large."""
    body = b""
    for block in answer.iter_content(_BLOCK_BYTES):
        body += block
        if len(body) > _MAX_BODY_BYTES:
            raise NotAnApi("the response is too large", hint="Check that the URL is the base URL of a docshare server.")
    return body


@dataclass(frozen=True)
class DoctorCheck:
    """A check. ``needs`` are the checks that must pass before it, ``fix`` is the advice if it times out."""

    name: str
    run: Callable[[CheckContext], DiagnosticFinding]
    needs: tuple[str, ...] = ()
    fix: str = ""


NamedFindings = Iterator[tuple[str, DiagnosticFinding]]


def run_checks(checks: Sequence[DoctorCheck], check_context: CheckContext) -> NamedFindings:
    """Run the checks of a table in order, skipping those whose requirements failed."""
    unusable: set[str] = set()
    for check in checks:
        hurdle = next((need for need in check.needs if need in unusable), None)
        finding = (
            skipped_finding(f"skipped; requires {hurdle} to pass")
            if hurdle
            else _run_within_deadline(check, check_context)
        )
        if hurdle is not None or finding.level == ERROR:
            unusable.add(check.name)
        yield check.name, finding


def _run_within_deadline(check: DoctorCheck, check_context: CheckContext) -> DiagnosticFinding:
    # Twice the timeout, because a check may wait for two responses.
    return run_check(2 * TIMEOUT_S, lambda: check.run(check_context), check.fix)


def mask_row(row: dict[str, Any], private: dict[str, str]) -> dict[str, Any]:
    """Return the row for a bug report, without names, addresses, paths, email addresses and secrets."""
    return {key: _mask_text(value, private) if key in ("detail", "fix") else value for key, value in row.items()}


def _mask_text(text: str, private: dict[str, str]) -> str:
    for name in sorted(private, key=len, reverse=True):
        text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", private[name], text)
    for pattern, mask in _MASKS:
        text = pattern.sub(mask, text)
    return text
