"""What an office document really is: the last word on what ``contract.media.detect_document`` saw in its first bytes.

Name and declared type do not count, only the directory of the container (spec: easy to get wrong 10).
"""

import mmap
from pathlib import Path
from typing import BinaryIO

from docshare.contract.media import HEAD_BYTES, detect_document_type, detect_zip_type
from docshare.contract.problems import Problem
from docshare.server.office.compound import CompoundFileError, read_root_names
from docshare.server.office.package import DAMAGED_DETAIL, document_problem, open_package

_WORD_STREAM, _POWERPOINT_STREAM, _ENCRYPTED_STREAM = "worddocument", "powerpoint document", "encryptedpackage"
_WORD_ENTRY = "WordDocument\0".encode("utf-16-le")
_ACCEPTED_HINT = "Send a PDF, a Word document (.docx) or a PowerPoint presentation (.pptx, .ppt)."


def detect_kind(path: Path) -> str:
    """The kind of the document at ``path``: ``docx``, ``pptx`` or ``ppt``, keys of ``contract.media.DOCUMENTS``.

    Reads the container's directory and no more than a few megabytes, however large the file is. Raises Problem
    ``bad_request`` (old Word, other kinds) and ``unprocessable`` (damaged, encrypted, a bomb by its directory).
    """
    with path.open("rb") as file:
        first_look = detect_document_type(file.read(HEAD_BYTES))
        if first_look in ("docx", "pptx", "zip"):
            return _detect_zip_kind(file)
        if first_look in ("ppt", "doc", "ole"):
            return _detect_ole_kind(file, first_look)
    raise Problem("bad_request", "The file is not a document that is accepted here.", hint=_ACCEPTED_HINT)


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
    if _WORD_STREAM in names:
        raise _legacy_word_problem()
    if _POWERPOINT_STREAM in names:
        return "ppt"
    if _ENCRYPTED_STREAM in names:
        raise document_problem("The document needs a password to be opened.", "Remove the password and send it again.")
    raise Problem("bad_request", "The file is neither a Word document nor a presentation.", hint=_ACCEPTED_HINT)


def _has_word_entry(file: BinaryIO) -> bool:
    """Whether a directory entry of an old Word document stands anywhere in a file whose directory is broken."""
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
        return view.find(_WORD_ENTRY) >= 0


def _legacy_word_problem() -> Problem:
    return Problem(
        "bad_request",
        "Old Word documents (.doc) are not accepted.",
        hint="Save it as .docx or PDF in a current word processor.",
    )
