"""Assets of a file: its logo, its background, sounds of its hotspots (section Files)."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from docshare.client.files import file_path
from docshare.client.retries import Call
from docshare.contract.media import ASSET_KINDS

if TYPE_CHECKING:
    from docshare.client.body import Source
    from docshare.client.transport import Transport


class Assets:
    """``client.assets``."""

    def __init__(self, transport: "Transport") -> None:
        self._transport = transport

    def add(
        self, file: str, source: "Source", name: str, kind: str, *, progress: Callable[[int], None] | None = None
    ) -> dict[str, Any]:
        """``POST /files/{id}/assets``: ``{assetId, kind, mimeType, size}``.

        Parameters:
            file: a UUID or a short id.
            source: a seekable binary file: PNG, JPEG or WebP up to 5 MB, or MP3 up to 10 MB.
            name: the file name to send.
            kind: a key of ``contract.media.ASSET_KINDS``; a second logo or background replaces the first.
            progress: called with the bytes of the file sent so far.

        A sound whose answer is lost is not sent again, since it could then be there twice. Problems: bad_request (no
        such type, or 10 assets stand), plan_required (below Basic), not_found, payload_too_large.
        """
        from docshare.client.body import MultipartFile

        body = MultipartFile(source, name, fields={"kind": kind}, progress=progress)
        once = kind in ASSET_KINDS and ASSET_KINDS[kind].singleton
        return self._transport.json_object(Call("POST", f"{file_path(file)}/assets", body=body, repeatable=once))
