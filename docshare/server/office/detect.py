"""Detect the type of an office document from the directory of its container.

``contract.media.detect_document_type`` sees only the first bytes; this module makes the final decision. The file name
and the declared media type do not matter: a renamed .doc is still rejected.
"""

from pathlib import Path
from typing import BinaryIO

from docshare.contract.media import HEAD_BYTES, detect_document_type, detect_zip_type
from docshare.contract.problems import Problem
from docshare.server.office.compound import CompoundFileError, read_root_names
from docshare.server.office.package import DAMAGED_DETAIL, document_problem, open_package
from docshare.server.store.stored_bytes import StoredBytes

_WORD_STREAM, _POWERPOINT_STREAM, _ENCRYPTED_STREAM = "worddocument", "powerpoint document", "encryptedpackage"
_WORD_ENTRY = _WORD_STREAM.encode("utf-16-le")
_BLOCK_BYTES = 1 << 20
_ACCEPTED_HINT = "Upload a PDF, a Word document (.docx) or a PowerPoint presentation (.pptx, .ppt)."


def detect_kind(path: StoredBytes | Path) -> str:
    """Return the kind of the document at ``path``: ``docx``, ``pptx`` or ``ppt``, keys of ``contract.media.DOCUMENTS``.

    Reads only the directory of the container, at most a few megabytes. Raises Problem ``bad_request`` (legacy Word or
    another type) or ``unprocessable`` (damaged, encrypted, or a zip bomb).
    """
    with path.open("rb") as file:
        first_look = detect_document_type(file.read(HEAD_BYTES))
        if first_look in ("docx", "pptx", "zip"):
            return _detect_zip_kind(file)
        if first_look in ("ppt", "doc", "ole"):
            return _detect_ole_kind(file, first_look)
    raise Problem("bad_request", "The file is not a supported document.", hint=_ACCEPTED_HINT)


def _detect_zip_kind(file: BinaryIO) -> str:
    with open_package(file) as package:
        kind = detect_zip_type(package.namelist())
    if kind is None:
        raise Problem("bad_request", "The file is neither a Word document nor a presentation.", hint=_ACCEPTED_HINT)
    return kind


def _detect_ole_kind(file: BinaryIO, first_look: str) -> str:
    try:
        names = read_root_names(file)
    except CompoundFileError as error:
        if first_look == "doc" or _has_word_entry(file):
            raise _legacy_word_problem() from error
        raise document_problem(DAMAGED_DETAIL) from error
    # Checked first, because Office can add a stub in the legacy format, for programs that cannot decrypt the document.
    if _ENCRYPTED_STREAM in names:
        raise document_problem(
            "The document is password-protected.", "Remove the password and upload the document again."
        )
    if _WORD_STREAM in names:
        raise _legacy_word_problem()
    if _POWERPOINT_STREAM in names:
        return "ppt"
    raise Problem("bad_request", "The file is neither a Word document nor a presentation.", hint=_ACCEPTED_HINT)


def _has_word_entry(file: BinaryIO) -> bool:
    """Return whether a file with a damaged directory contains a directory entry of a legacy Word document.

    Neither the case of the name nor the zero after it matters: other parsers ignore both.
    """
    file.seek(0)
    window = b""
    while block := file.read(_BLOCK_BYTES):
        window += block.lower()
        if _WORD_ENTRY in window:
            return True
        window = window[-len(_WORD_ENTRY) :]
    return False


def _legacy_word_problem() -> Problem:
    return Problem(
        "bad_request",
        "Legacy Word documents (.doc) are not supported.",
        hint="Save the document as .docx or PDF.",
    )
