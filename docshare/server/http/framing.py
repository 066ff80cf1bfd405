"""Parse the framing of requests strictly: header blocks and bodies.

A request that a proxy in front of this server could read differently is rejected, so that no request can be smuggled
inside another. Standard library only.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes

MAX_CHUNK_LINE = 256
MAX_TRAILER = 8 * 1024
FREE_CHUNK_OVERHEAD = 64 * 1024
"""A body may have this many bytes of chunk framing more than bytes of content. Each tiny chunk costs the server far
more time than it costs the sender."""

TOKEN_BYTES = frozenset(b"!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
MAX_FIELDS = 100
"""Maximum number of header fields; browsers and proxies send about thirty."""
MAX_REQUEST_LINE_BYTES = 16 * 1024
_REQUEST_LINE = re.compile(rb"([!#$%&'*+\-.^_`|~0-9A-Z]+) ([\x21-\x7e]+) HTTP/(1\.[01])")
_MAX_LINE_BYTES = 8 * 1024
_LENIENT_REQUEST_LINE = re.compile(rb"[^ \r\n]+ ([\x21-\x7e]+)(?: HTTP/[0-9.]+)?\r?\n")
_FIELD_LINE = re.compile(rb"([!#$%&'*+\-.^_`|~0-9A-Za-z]+):([\t\x20-\x7e\x80-\xff]*)")
_HOST = re.compile(rb"(?:\[[0-9A-Fa-f:.]+\]|[0-9A-Za-z._~-]+)(?::[0-9]{1,5})?")
_ABSOLUTE_URL_PREFIX = re.compile(rb"https?://[^/?#]+(?=[/?#]|$)", re.IGNORECASE)
_CHUNK_LINE = re.compile(rb"([0-9A-Fa-f]{1,15})(?:;[\t\x20-\x7e\x80-\xff]*)?")
# A number with more digits is larger than any body that the server accepts, so it is not converted.
_MAX_LENGTH_DIGITS = 18
# Also rejected with "_" instead of "-": some proxies treat both alike, and would see a header that this server ignores.
_FRAMING_FIELDS = frozenset({b"content-length", b"transfer-encoding", b"host"})


class FramingError(Exception):
    """The end of the request is unknown, so the server must close the connection. ``status``: 400, 413, 431 or 501."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail


class BodyTooLargeError(Exception):
    """A chunked body is larger than allowed."""


@dataclass(frozen=True)
class Framing:
    """The framing of one request. ``content_length``: declared bytes of the body, None if not declared.

    ``normalized_head``: the header block without the white space around values, which waitress strips in quadratic
    time.
    """

    content_length: int | None
    is_chunked: bool
    normalized_head: bytes


def parse_framing(block: bytes) -> Framing:
    """Check a header block, including its request line and both final line breaks.

    Raises FramingError for anything that is malformed or ambiguous: line folding, bare CR or LF, control characters,
    a missing or doubled Host, a doubled Content-Length or Transfer-Encoding, both at once, any coding but
    ``chunked``; 431 for more than ``MAX_FIELDS`` fields or a request line of more than ``MAX_REQUEST_LINE_BYTES``.
    """
    # Checked before the lines are parsed: 16,000 short ones would block the only thread of the listener for 40 ms.
    if block.count(b"\n") > MAX_FIELDS + 2:
        raise FramingError(431, f"The request has more than {MAX_FIELDS} header fields.")
    if block.find(b"\n") > MAX_REQUEST_LINE_BYTES:
        raise FramingError(431, "The request line is too long.")
    request_line, *lines = block[:-4].split(b"\r\n")
    match = _REQUEST_LINE.fullmatch(request_line)
    if match is None or not _is_valid_target(match[1], match[2]):
        raise FramingError(400, "The request line is malformed.")
    fields: dict[bytes, list[bytes]] = {name: [] for name in _FRAMING_FIELDS}
    normalized = [request_line]
    for line in lines:
        name, value = _parse_field(line)
        normalized.append(name + b": " + value)
        if name in fields:
            fields[name].append(value)
        elif name.replace(b"_", b"-") in fields:
            raise FramingError(400, "A header name is written with an underscore.")
    version = match[3]
    _check_host(fields[b"host"], version)
    chunked = _is_chunked(fields[b"transfer-encoding"], version)
    length = _parse_content_length(fields[b"content-length"])
    if chunked and length is not None:
        raise FramingError(400, "The request has both Transfer-Encoding and Content-Length.")
    return Framing(length, chunked, b"\r\n".join(normalized) + b"\r\n")


def parse_target_path(head: bytes) -> str | None:
    """Return the decoded path of a header block that may be malformed or incomplete; None if it is missing or too
    long."""
    if len(head) > _MAX_LINE_BYTES and b"\r\n" not in head[:_MAX_LINE_BYTES]:
        return None
    match = _LENIENT_REQUEST_LINE.match(head)
    if match is None:
        return None
    target = _ABSOLUTE_URL_PREFIX.sub(b"", match[1], count=1)
    path = unquote_to_bytes(re.split(rb"[?#]", target, maxsplit=1)[0]).decode("latin-1")
    return "/" + path.lstrip("/")


def _is_valid_target(method: bytes, target: bytes) -> bool:
    if target == b"*":
        return method == b"OPTIONS"
    return b"#" not in target and (target.startswith(b"/") or _ABSOLUTE_URL_PREFIX.match(target) is not None)


def _parse_field(line: bytes) -> tuple[bytes, bytes]:
    match = _FIELD_LINE.fullmatch(line)
    if match is None:
        raise FramingError(400, "A header line is malformed.")
    return match[1].lower(), match[2].strip(b" \t")


def _check_host(values: list[bytes], version: bytes) -> None:
    if not values and version == b"1.0":
        return
    if len(values) != 1 or _HOST.fullmatch(values[0]) is None:
        raise FramingError(400, "The request needs exactly one valid Host header.")


def _is_chunked(values: list[bytes], version: bytes) -> bool:
    if not values:
        return False
    codings = [coding.strip(b" \t").lower() for coding in b",".join(values).split(b",")]
    if len(values) > 1 or version == b"1.0" or codings.count(b"chunked") > 1 or b"" in codings:
        raise FramingError(400, "The Transfer-Encoding is ambiguous.")
    if codings != [b"chunked"]:
        raise FramingError(501, "Only the transfer coding 'chunked' is supported.")
    return True


def _parse_content_length(values: list[bytes]) -> int | None:
    if not values:
        return None
    if len(values) > 1 or not values[0].isdigit():
        raise FramingError(400, "The request needs one whole number as its Content-Length.")
    if len(values[0]) > _MAX_LENGTH_DIGITS:
        raise FramingError(413, "The Content-Length is larger than any body that this server accepts.")
    return int(values[0])


class FixedBody:
    """A body of ``length`` bytes. ``receive`` passes its blocks to ``sink``; ``is_complete`` after the last one."""

    def __init__(self, length: int, sink: Callable[[bytes], None]) -> None:
        self._remaining = length
        self._sink = sink
        self.size = 0
        self.is_complete = False

    def receive(self, data: bytes) -> int:
        """Consume the part of ``data`` that belongs to the body; return its length."""
        block = data[: self._remaining] if len(data) > self._remaining else data
        self.size += len(block)
        self._remaining -= len(block)
        self.is_complete = self._remaining == 0
        self._sink(block)
        return len(block)


class ChunkedBody:
    """A chunked body of at most ``limit`` decoded bytes. ``receive`` passes decoded blocks to ``sink``; ``size`` counts
    their bytes.

    ``receive`` raises FramingError 400 for malformed chunks, endless chunk lines or trailers and too many tiny chunks,
    and BodyTooLargeError for a body beyond ``limit``.
    """

    def __init__(self, limit: int, sink: Callable[[bytes], None]) -> None:
        self._limit = limit
        self._sink = sink
        self._rest = b""  # received, but too short for the current state
        self._remaining = 0  # bytes of the current chunk
        self._overhead = 0
        self._trailer = 0
        self._state = self._read_size_line
        self._blocks: list[bytes] = []
        self.size = 0
        self.is_complete = False

    def receive(self, data: bytes) -> int:
        """Consume the part of ``data`` that belongs to the body; return its length."""
        carried = len(self._rest)
        data = self._rest + data if carried else data
        at = 0
        while not self.is_complete and (next_at := self._state(data, at)) >= 0:
            at = next_at
        self._rest = b"" if self.is_complete else data[at:]
        if self._blocks:
            blocks, self._blocks = self._blocks, []
            self._sink(blocks[0] if len(blocks) == 1 else b"".join(blocks))
        return (at if self.is_complete else len(data)) - carried

    # Each state parses ``data`` from the offset ``at``, and returns the offset of the next state, or -1 if it needs
    # more bytes.

    def _find_line_end(self, data: bytes, at: int, limit: int) -> int:
        end = data.find(b"\r\n", at, at + limit + 2)
        if end < 0 and len(data) - at > limit + 1:
            raise FramingError(400, "A line of the chunked body is too long.")
        return end

    def _read_size_line(self, data: bytes, at: int) -> int:
        end = self._find_line_end(data, at, MAX_CHUNK_LINE)
        if end < 0:
            return -1
        match = _CHUNK_LINE.fullmatch(data, at, end)
        if match is None:
            raise FramingError(400, "A chunk size of the body is malformed.")
        self._remaining = int(match[1], 16)
        self._state = self._read_chunk if self._remaining else self._read_trailer_line
        self._overhead += end + 4 - at
        if self.size + self._remaining > self._limit:
            raise BodyTooLargeError
        if self._overhead > FREE_CHUNK_OVERHEAD + self.size:
            raise FramingError(400, "The body comes in too many tiny chunks.")
        return end + 2

    def _read_chunk(self, data: bytes, at: int) -> int:
        if at == len(data):
            return -1
        block = data[at : at + self._remaining]
        self._blocks.append(block)
        self.size += len(block)
        self._remaining -= len(block)
        if not self._remaining:
            self._state = self._read_chunk_end
        return at + len(block)

    def _read_chunk_end(self, data: bytes, at: int) -> int:
        end = data[at : at + 2]
        if end == b"\r\n":
            self._state = self._read_size_line
            return at + 2
        if b"\r\n".startswith(end):
            return -1
        raise FramingError(400, "A chunk of the body is longer than its declared size.")

    def _read_trailer_line(self, data: bytes, at: int) -> int:
        end = self._find_line_end(data, at, MAX_TRAILER - self._trailer)
        if end < 0:
            return -1
        self._trailer += end + 2 - at
        if end > at:
            _parse_field(data[at:end])
        else:
            self.is_complete = True
        return end + 2
