"""The frame of ``docshare doctor``: tables of checks, each made under a deadline, and hiding what is private."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from docshare.contract.findings import ERROR, Finding, absent, found_within

if TYPE_CHECKING:
    import requests

    from docshare.cli.framework.context import Context

_BLOCK_BYTES = 64 * 1024  # bytes
_MAX_BODY_BYTES = 16 * _BLOCK_BYTES  # more than any answer has that a check asks for
TIMEOUT_S = 5.0
"""How long one check may take, and how long it waits for a server."""

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
_MIN_PRIVATE_CHARS = 3  # a shorter name may be anything


class ProbeResponse(NamedTuple):
    """What a server said."""

    status_code: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """The body as JSON; raises ValueError if it is none."""
        return json.loads(self.body)


@dataclass
class CheckContext:
    """What the checks share. ``data``: the data directory that was named; ``wish``: what the server shall try besides;
    ``body``: bytes that are sent through the public address; ``private``: what to hide in a bug report, and the word
    that stands there instead."""

    ctx: "Context"
    data: Path | None = None
    wish: dict[str, str] = field(default_factory=dict)
    body: int = 0
    private: dict[str, str] = field(default_factory=dict)

    def hide(self, text: object, mask: str) -> None:
        """Let no bug report show ``text`` but ``mask``."""
        if text and len(str(text)) >= _MIN_PRIVATE_CHARS:
            self.private[str(text)] = mask

    def get(self, url: str, *, with_token: bool = False) -> "ProbeResponse":
        """The answer to GET ``url``, by the way that the client of the API takes: through the proxies of
        the environment, and without a login out of ``~/.netrc``.

        Raises BadAddress where the credential would travel unencrypted, TransportError where no answer comes.
        """
        import requests

        from docshare.cli.local.settings import resolve_setting
        from docshare.client.address import parse_address
        from docshare.client.errors import TimedOut
        from docshare.client.failures import translated
        from docshare.client.retries import Call
        from docshare.client.transport import Bearer

        connection = self.ctx.connection
        allowed = bool(resolve_setting(self.ctx, "allow_http").value)
        parse_address(str(connection.url.value), with_token=with_token, allow_http=allowed)
        with self.session() as http:
            http.auth = Bearer(connection.token if with_token else None, connection.origin)
            try:
                # Said again here: requests lets its own variable win over what the session says.
                with http.get(url, timeout=TIMEOUT_S, allow_redirects=False, verify=http.verify, stream=True) as answer:
                    return ProbeResponse(answer.status_code, answer.headers, _read_body(answer))
            except requests.RequestException as error:
                failure = translated(error, Call("GET", ""), connection.origin)
                if isinstance(failure, TimedOut):
                    failure.hint = "The server is stopped or overloaded, or something before it holds requests."
                raise failure from error

    def session(self) -> "requests.Session":
        """A session that trusts the authorities in effect and shows nobody a login."""
        import requests

        from docshare.cli.local.settings import resolve_setting
        from docshare.client.transport import Bearer

        session = requests.Session()
        session.auth = Bearer(None, "")
        session.verify = resolve_setting(self.ctx, "ca_bundle").value or True
        return session


def _read_body(answer: "requests.Response") -> bytes:
    """The body of ``answer``; raises NotAnApi if it goes on and on."""
    from docshare.client.errors import NotAnApi

    body = b""
    for block in answer.iter_content(_BLOCK_BYTES):
        body += block
        if len(body) > _MAX_BODY_BYTES:
            raise NotAnApi("the answer does not end", hint="Is this the base URL of a docshare server?")
    return body


class DoctorCheck(NamedTuple):
    """``name`` as it is shown; ``needs``: checks without which it makes no sense; ``fix``: what helps if it hangs."""

    name: str
    run: Callable[[CheckContext], Finding]
    needs: tuple[str, ...] = ()
    fix: str = ""


NamedFindings = Iterator[tuple[str, Finding]]


def run_checks(checks: Sequence[DoctorCheck], scene: CheckContext) -> NamedFindings:
    """Make the checks of one table in their order; one that needs what is broken is passed over."""
    unusable: set[str] = set()
    for check in checks:
        hurdle = next((need for need in check.needs if need in unusable), None)
        finding = absent(f"not looked at, because of {hurdle}") if hurdle else _run_within_deadline(check, scene)
        if hurdle is not None or finding.level == ERROR:
            unusable.add(check.name)
        yield check.name, finding


def _run_within_deadline(check: DoctorCheck, scene: CheckContext) -> Finding:
    # Twice its patience: a check may wait for two answers.
    return found_within(2 * TIMEOUT_S, lambda: check.run(scene), check.fix)


def mask_row(row: dict[str, Any], private: dict[str, str]) -> dict[str, Any]:
    """A row fit for a bug report: without names, addresses, paths, e-mail addresses and secrets."""
    return {key: _mask_text(value, private) if key in ("detail", "fix") else value for key, value in row.items()}


def _mask_text(text: str, private: dict[str, str]) -> str:
    for name in sorted(private, key=len, reverse=True):
        text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", private[name], text)
    for pattern, mask in _MASKS:
        text = pattern.sub(mask, text)
    return text
