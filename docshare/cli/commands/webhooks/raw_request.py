"""Reading an HTTP request that somebody saved to a file, headers and body as they came."""

import re
from typing import NamedTuple

from docshare.cli.framework.exits import ExitCode, Stop

_REQUEST_LINE = re.compile(r"[A-Z]+ \S+ HTTP/[0-9.]+", re.ASCII)
_END_OF_HEAD = re.compile(rb"\r?\n\r?\n")


class SavedRequest(NamedTuple):
    """A saved request: ``headers`` in their order; the raw ``body``; ``remark`` about it, empty if there is none."""

    headers: tuple[tuple[str, str], ...]
    body: bytes
    remark: str

    def values(self, name: str) -> list[str]:
        """Every value of the header ``name``, whose case does not matter."""
        return [value for known, value in self.headers if known.lower() == name.lower()]


def parse_request(raw: bytes) -> SavedRequest:
    """Read a saved request, lines ended by CR LF or LF, with or without its request line.

    The body is what follows the empty line, as long as ``Content-Length`` says: editors add a newline. Stop (2) for
    what is no request.
    """
    end = _END_OF_HEAD.search(raw)
    if end is None:
        raise _request_error("there is no empty line between headers and body")
    headers = tuple(_parse_headers(raw[: end.start()].decode("latin-1")))
    body, remark = raw[end.end() :], ""
    saved = SavedRequest(headers, body, remark)
    if any(value.lower() != "identity" for value in saved.values("Transfer-Encoding")):
        raise _request_error("its body is chunked; save the body itself and give it as BODY")
    for said in saved.values("Content-Length")[:1]:
        if said.isascii() and said.isdigit() and int(said) != len(body):
            body, remark = body[: int(said)], _describe_length_mismatch(int(said), len(body))
    return SavedRequest(headers, body, remark)


def _parse_headers(head: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for number, line in enumerate(re.split(r"\r?\n", head), 1):
        if number == 1 and _REQUEST_LINE.fullmatch(line):
            continue
        name, colon, value = line.partition(":")
        if not colon or not name or name != name.strip():
            raise _request_error(f"line {number} is no header")
        found.append((name, value.strip(" \t")))
    return found


def _describe_length_mismatch(said: int, found: int) -> str:
    if found > said:
        return f"the body has {found} bytes; the {said} that Content-Length says are looked at"
    return f"the body has {found} bytes, but Content-Length says {said}: it was cut off or changed"


def _request_error(why: str) -> Stop:
    return Stop(ExitCode.USAGE, f"--request: {why}", hint="Save headers, an empty line and the raw body.")
