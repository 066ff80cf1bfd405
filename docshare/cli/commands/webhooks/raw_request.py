"""Parse an HTTP request that was saved to a file, and examine its signature."""

import re
from dataclasses import dataclass

from docshare.cli.commands.webhooks import verify
from docshare.cli.framework.context import Context
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.framework.inputs import read_bytes
from docshare.contract.signing import SignatureVerdict

_REQUEST_LINE = re.compile(r"[A-Z]+ \S+ HTTP/[0-9.]+", re.ASCII)
_END_OF_HEAD = re.compile(rb"\r?\n\r?\n")


@dataclass(frozen=True)
class SavedRequest:
    """A saved request: ``headers`` in order, the raw ``body``, and a ``warning`` about it or an empty string."""

    headers: tuple[tuple[str, str], ...]
    body: bytes
    warning: str

    def get_all(self, name: str) -> list[str]:
        """Return every value of the header ``name``, ignoring case."""
        return [value for known, value in self.headers if known.lower() == name.lower()]


def parse_request(raw: bytes) -> SavedRequest:
    """Parse a saved request with CR LF or LF line ends, with or without its request line.

    The body follows the empty line and is cut to ``Content-Length``, because editors append a newline. Raise Stop (2)
    if ``raw`` is not a request.
    """
    end = _END_OF_HEAD.search(raw)
    if end is None:
        raise _request_error("no empty line between headers and body")
    headers = tuple(_parse_headers(raw[: end.start()].decode("latin-1")))
    body, remark = raw[end.end() :], ""
    saved = SavedRequest(headers, body, remark)
    if any(value.lower() != "identity" for value in saved.get_all("Transfer-Encoding")):
        raise _request_error("the body is chunked; save the decoded body and pass it as BODY")
    for length in saved.get_all("Content-Length")[:1]:
        if length.isascii() and length.isdigit() and int(length) != len(body):
            body, remark = body[: int(length)], _describe_length_mismatch(int(length), len(body))
    return SavedRequest(headers, body, remark)


def _parse_headers(head: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for number, line in enumerate(re.split(r"\r?\n", head), 1):
        if number == 1 and _REQUEST_LINE.fullmatch(line):
            continue
        name, colon, value = line.partition(":")
        if not colon or not name or name != name.strip():
            raise _request_error(f"line {number} is not a header")
        found.append((name, value.strip(" \t")))
    return found


def _describe_length_mismatch(length: int, found: int) -> str:
    if found > length:
        return f"the body has {found} bytes; only the {length} bytes of Content-Length are used"
    return f"the body has {found} bytes, but Content-Length is {length}: the body was truncated or changed"


def _request_error(why: str) -> Stop:
    return Stop(ExitCode.USAGE, f"--request: {why}", hint="Save headers, an empty line, and the raw body.")


def examine_request(
    ctx: Context, secret: str, source: str, header: str, times: tuple[int, int]
) -> verify.SignatureFinding:
    """Examine the signature of the saved request in ``source``. ``times``: now and the tolerance (ms)."""
    saved = parse_request(read_bytes(ctx, source, "--request"))
    if saved.warning:
        ctx.note(saved.warning)
    values = saved.get_all(header)
    if len(values) == 1:
        return verify.examine(secret, saved.body, values[0], *times)
    if values:
        return verify.SignatureFinding(SignatureVerdict.MALFORMED, f"The request has {len(values)} {header} headers.")
    others = [name for name, value in saved.headers if re.match(r"\s*t=\d+\s*,\s*v1=", value)]
    hint = f"{others[0]} may be it: --header-name {others[0]}" if others else "Slack deliveries are not signed."
    return verify.SignatureFinding(SignatureVerdict.MALFORMED, f"The request has no {header} header.", hint)
