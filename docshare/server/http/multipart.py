"""A push parser for ``multipart/form-data``. The caller feeds it blocks of any size; it writes files directly to the
store.

It takes linear time for any body, and its result does not depend on the size of the blocks. It is strict: anything that
two parsers could read differently is an error, because the other parser may be a proxy that protects this server.

The decoder of Werkzeug 3.1.9 was tried instead, with the same rules. It failed 8 of the 77 tests of the parser; for
example, it adds a CR to the file if a block ends between the two dashes of the last boundary. It was also slower:
uploads of 384 MB, measured alternately on a busy machine, reached 0.36 to 0.47 of the limit of
``tests/benchmarks/upload_server.py``, whose target is 0.60. With this parser they reached 0.60 to 0.72.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import unquote_to_bytes

from docshare.server.received_file import ReceivedFile
from docshare.server.store.blobs import PartialFile

FORM_KEY = "docshare.form"
FORM_ERROR_KEY = "docshare.form_error"
"""Keys of the WSGI environment. The bundled listener stores the ReceivedForm, or its error, under them."""

MAX_PARTS = 10
KNOWN_PARTS = frozenset({"file", "kind"})
"""The part names that routes accept."""
MAX_FIELD_BYTES = 64 * 1024
MAX_PART_HEADER_BYTES = 8 * 1024
MAX_OUTSIDE_BYTES = 8 * 1024
"""Maximum size of the preamble, and of the epilogue, in bytes; both are discarded."""

_MAX_PADDING_BYTES = 64
# RFC 2046 allows 70 characters; a client that builds its boundary from numbers may exceed that slightly.
_BOUNDARY = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]{0,126}[\x21-\x7e])?")
_PARAMETER = re.compile(r"""[ \t]*;[ \t]*([!#$%&'*+\-.^_`|~0-9A-Za-z]+)[ \t]*=[ \t]*("(?:[^"\\]|\\.)*"|[^;" \t]*)""")
_ESCAPE = re.compile(r'\\(["\\])')
_HEADER_LINE = re.compile(rb"([!#$%&'*+\-.^_`|~0-9A-Za-z]+):([^\x00-\x08\x0a-\x1f\x7f]*)")
_CHARSETS = frozenset({"utf-8", "iso-8859-1", "us-ascii"})
_IDENTITY_ENCODINGS = frozenset({b"", b"7bit", b"8bit", b"binary"})


class FormError(Exception):
    """The form is invalid; the message is a sentence for the sender."""


class FileTooLargeError(Exception):
    """A file of the form is larger than allowed."""


@dataclass(frozen=True)
class ReceivedForm:
    """The parts of one form by their names. ``fields`` are the parts without a file name, ``files`` those with one."""

    fields: dict[str, str] = field(default_factory=dict)
    files: dict[str, ReceivedFile] = field(default_factory=dict)

    def discard(self) -> None:
        """Remove the files that were not kept."""
        for file in self.files.values():
            file.part.discard()


def parse_boundary(content_type: str) -> bytes:
    """Return the boundary of a Content-Type header. Raises FormError unless it is a valid multipart/form-data."""
    media_type, parameters = _parse_parameters(content_type)
    if media_type != "multipart/form-data":
        raise FormError("The body must be multipart/form-data.")
    boundary = parameters.get("boundary", "")
    if _BOUNDARY.fullmatch(boundary) is None:
        raise FormError("The Content-Type has no valid boundary.")
    return boundary.encode("ascii")


class FormParser:
    """The parser of one form.

    Parameters: ``boundary`` without its dashes; ``create_partial`` opens a new partial file; ``max_file`` the largest
    file in bytes, None without limit. Call ``feed`` for each block, then ``finish``; after any exception ``discard``.
    """

    def __init__(self, boundary: bytes, create_partial: Callable[[], PartialFile], max_file: int | None = None) -> None:
        self._delimiter = b"\r\n--" + boundary
        self._create_partial = create_partial
        self._max_file = max_file
        self._form = ReceivedForm()
        self._name = ""
        self._value = bytearray()
        self._is_skipping = False
        self._part_count = 0
        self._partial: PartialFile | None = None
        # Only the first boundary may come without a line break. With this one, every delimiter begins with one.
        self._data = b"\r\n"
        self._at = 0
        self._outside_bytes = 0
        self._state = self._read_preamble

    def feed(self, block: bytes) -> None:
        """Parse ``block``. Raises FormError, FileTooLargeError, or OSError if the disk is full or fails."""
        self._data = self._data + block if self._data else block
        self._at = 0
        while self._state():
            pass
        self._data = self._data[self._at :]

    def finish(self) -> ReceivedForm:
        """Return the complete form. Raises FormError if it has not ended."""
        if self._state != self._read_epilogue:
            raise FormError("The form ends before its last boundary.")
        return self._form

    def discard(self) -> None:
        """Remove every file of the form that was not kept."""
        self._form.discard()

    # Each state continues at self._at; it returns True after a change of state, False if it needs more bytes.

    def _read_preamble(self) -> bool:
        end, found = self._find_delimiter()
        self._count_outside(end - self._at)
        return self._skip_delimiter(end, found)

    def _read_body(self) -> bool:
        end, found = self._find_delimiter()
        if end > self._at:
            self._store_block(memoryview(self._data)[self._at : end])
        if found:
            self._end_part()
        return self._skip_delimiter(end, found)

    def _find_delimiter(self) -> tuple[int, bool]:
        """Return the offset of the next delimiter and True, or the offset up to which the received bytes cannot belong
        to it and False."""
        found = self._data.find(self._delimiter, self._at)
        if found >= 0:
            return found, True
        return _find_partial_delimiter(self._data, self._at, self._delimiter), False

    def _skip_delimiter(self, end: int, found: bool) -> bool:
        """Move to ``end``, and after the delimiter there if it was ``found``; return ``found``."""
        self._at = end
        if found:
            self._at += len(self._delimiter)
            self._state = self._read_boundary_line
        return found

    def _read_boundary_line(self) -> bool:
        """Read the line after a delimiter: ``--`` ends the form, a line break begins a part."""
        rest = self._data[self._at : self._at + _MAX_PADDING_BYTES + 2]
        line = rest.lstrip(b" \t")
        padding = len(rest) - len(line)
        if rest.startswith(b"--"):
            self._outside_bytes = 0
            self._at += 2
            self._state = self._read_epilogue
            return True
        if line.startswith(b"\r\n"):
            self._at += padding
            self._state = self._read_header
            return True
        if rest == b"-" or (b"\r\n".startswith(line) and padding <= _MAX_PADDING_BYTES):
            return False
        raise FormError("A boundary line of the form is malformed.")

    def _read_header(self) -> bool:
        # Search from the line break of the boundary line: in a part without headers, it is the first half of the end.
        end = self._data.find(b"\r\n\r\n", self._at)
        earliest_end = end if end >= 0 else len(self._data) - 3
        if earliest_end - self._at - 2 > MAX_PART_HEADER_BYTES:
            raise FormError("The headers of a part are too long.")
        if end < 0:
            return False
        self._begin_part(self._data[self._at + 2 : end])
        self._at = end + 2
        self._state = self._read_blank_line
        return True

    def _read_blank_line(self) -> bool:
        """Skip the line break after the headers. In a part without a body, it begins the next delimiter, so it is not
        skipped."""
        rest = self._data[self._at : self._at + len(self._delimiter)]
        if rest != self._delimiter:
            if self._delimiter.startswith(rest):
                return False
            self._at += 2
        self._state = self._read_body
        return True

    def _read_epilogue(self) -> bool:
        self._count_outside(len(self._data) - self._at)
        self._at = len(self._data)
        return False

    def _count_outside(self, count: int) -> None:
        self._outside_bytes += count
        if self._outside_bytes > MAX_OUTSIDE_BYTES:
            raise FormError("The form has too many bytes outside its parts.")

    def _begin_part(self, block: bytes) -> None:
        disposition, content_type = _read_part_header(block)
        kind, parameters = _parse_parameters(disposition)
        if kind != "form-data" or "name" not in parameters:
            raise FormError("A part has no name.")
        self._name = parameters["name"]
        self._part_count += 1
        if self._part_count > MAX_PARTS:
            raise FormError(f"The form has more than {MAX_PARTS} parts.")
        if self._name in self._form.fields or self._name in self._form.files:
            if self._name in KNOWN_PARTS:
                raise FormError("Two parts of the form have the same name.")
            self._is_skipping = True  # no route uses a part of this name
            return
        filename = _decode_filename(parameters)
        if filename is None:
            self._form.fields[self._name] = ""
            return
        self._partial = self._create_partial()
        self._form.files[self._name] = ReceivedFile(filename, content_type, self._partial)

    def _store_block(self, block: memoryview) -> None:
        if self._is_skipping:
            return
        if self._partial is None:
            if len(self._value) + len(block) > MAX_FIELD_BYTES:
                raise FormError(f"A field of the form is longer than {MAX_FIELD_BYTES} bytes.")
            self._value += block
            return
        if self._max_file is not None and self._partial.size + len(block) > self._max_file:
            raise FileTooLargeError
        self._partial.write(block)

    def _end_part(self) -> None:
        if self._partial is None and not self._is_skipping:
            try:
                self._form.fields[self._name] = self._value.decode("utf-8")
            except UnicodeDecodeError:
                if self._name in KNOWN_PARTS:
                    raise FormError("A field of the form is not UTF-8 text.") from None
                del self._form.fields[self._name]
            self._value.clear()
        self._partial = None
        self._is_skipping = False


def _find_partial_delimiter(data: bytes, start: int, delimiter: bytes) -> int:
    """Return the offset of the longest end of ``data``, from ``start`` on, that is a beginning of ``delimiter``; the
    length of ``data`` if there is none."""
    at = data.find(b"\r", max(start, len(data) - len(delimiter) + 1))
    while at >= 0:
        if delimiter.startswith(data[at:]):
            return at
        at = data.find(b"\r", at + 1)
    return len(data)


def _read_part_header(block: bytes) -> tuple[str, str]:
    """Parse Content-Disposition and Content-Type of one part."""
    headers: dict[bytes, bytes] = {}
    for line in block.split(b"\r\n"):
        match = _HEADER_LINE.fullmatch(line)
        if match is None or match[1].lower() in headers:
            raise FormError("The headers of a part cannot be read.")
        headers[match[1].lower()] = match[2].strip(b" \t")
    if headers.get(b"content-transfer-encoding", b"").lower() not in _IDENTITY_ENCODINGS:
        raise FormError("A part has a Content-Transfer-Encoding; send the bytes as they are.")
    disposition = headers.get(b"content-disposition", b"").decode("utf-8", "replace")
    return disposition, headers.get(b"content-type", b"application/octet-stream").decode("latin-1")


def _parse_parameters(value: str) -> tuple[str, dict[str, str]]:
    """Split ``kind; name=value; name="value"``; names in lower case, values without quotes."""
    kind = value.partition(";")[0]
    at = len(kind)
    parameters: dict[str, str] = {}
    while match := _PARAMETER.match(value, at):
        name, text = match[1].lower(), match[2]
        if name in parameters:
            raise FormError("A header of the form names a parameter twice.")
        # Only quotes and backslashes are unescaped: old browsers send C:\docs\a.pdf with single backslashes.
        parameters[name] = _ESCAPE.sub(r"\1", text[1:-1]) if text.startswith('"') else text
        at = match.end()
    if value[at:].strip(" \t;"):
        raise FormError("A header of the form cannot be read.")
    return kind.strip(" \t").lower(), parameters


def _decode_filename(parameters: dict[str, str]) -> str | None:
    """Return the file name of a part, None for a plain field.

    RFC 7578 requires UTF-8 in ``filename``; ``filename*`` (RFC 2231 and 8187, without continuations) is sent by older
    clients and takes precedence if it is valid. Browsers send a quotation mark as ``%22``.
    """
    charset, _, coded = parameters.get("filename*", "").partition("'")
    _language, mark, coded = coded.partition("'")
    if mark and charset.lower() in _CHARSETS:
        return unquote_to_bytes(coded).decode(charset, "replace")
    plain = parameters.get("filename")
    return None if plain is None else plain.replace("%22", '"')
