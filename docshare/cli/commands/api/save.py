"""Save the body of a response of ``docshare api`` in a file."""

from pathlib import Path
from typing import TYPE_CHECKING

from docshare.cli.commands.files.save import store
from docshare.client.files import DownloadedContent

if TYPE_CHECKING:
    from docshare.cli.framework.context import Context
    from docshare.client.raw import RawResponse


def save_response(ctx: "Context", answer: "RawResponse", path: Path) -> None:
    """Write the body to ``path``, completely or not at all."""
    headers = {key.lower(): value for key, value in answer.headers.items()}
    length = headers.get("content-length", "")
    known = int(length) if length.isdigit() and not headers.get("content-encoding") else None
    store(ctx, DownloadedContent(answer.blocks, path.name, known, headers.get("content-type", "").lower()), path)
