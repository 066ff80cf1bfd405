"""Documents to send: paths, bytes, and streams as seekable files."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from tempfile import SpooledTemporaryFile
from typing import IO, TYPE_CHECKING, TypeAlias, cast

from docshare.client.errors import LocalFileError

if TYPE_CHECKING:
    from docshare.client.http.body import BinarySource

Document: TypeAlias = "str | os.PathLike[str] | bytes | BinarySource | IO[bytes]"

_MEMORY_BYTES = 8 * 1024 * 1024  # of a stream that cannot be read twice; more is copied to a temporary file


@contextmanager
def open_document(document: Document, name: str | None) -> Iterator[tuple["BinarySource", str]]:
    """Yield ``document`` as a seekable file, and the name to send.

    A path and a stream with a name supply the name themselves; otherwise raise ``TypeError`` if there is none. Raise
    ``LocalFileError`` if the path cannot be opened.
    """
    if isinstance(document, str | os.PathLike):
        try:
            file = open(document, "rb", buffering=0)  # noqa: SIM115 - closed below
        except OSError as error:
            raise LocalFileError(f"cannot read {os.fspath(document)}: {error.strerror or error}") from error
        with file:
            yield file, name or os.path.basename(os.fspath(document))
        return
    own = getattr(document, "name", None)
    name = name or (os.path.basename(own) if isinstance(own, str) else None)
    if not name:
        raise TypeError("name is required for bytes and for a stream without a name")
    if isinstance(document, bytes):
        yield BytesIO(document), name
    elif getattr(document, "seekable", bool)() or not hasattr(document, "read"):
        yield cast("BinarySource", document), name
    else:
        with SpooledTemporaryFile(_MEMORY_BYTES) as copy:
            shutil.copyfileobj(cast("IO[bytes]", document), copy)
            yield cast("BinarySource", copy), name
