"""What a server tells anybody of its share links (sections Files and Errors). No credential is needed."""

from typing import TYPE_CHECKING, Any

from docshare.client.errors import Refused
from docshare.client.files import file_path
from docshare.client.options import UPLOAD_TIMEOUT
from docshare.client.retries import Call

if TYPE_CHECKING:
    from collections.abc import Callable

    from docshare.client.body import Source
    from docshare.client.transport import Transport

_ROOT = "/api"


class Public:
    """``client.public``. Every ``file`` is the UUID or short id of a link, a variant's too; never a slug."""

    def __init__(self, transport: "Transport") -> None:
        self._transport = transport

    def metadata(self, file: str) -> dict[str, Any]:
        """``GET /api/files/{id}/metadata``: the facts of a living link.

        A dead one is the problem ``gone``, whose ``extra`` is what the server told: ``reason`` (``expired``,
        ``burned``), ``why``, ``endedAt`` and, unless it was gated, ``originalName``. Other problems: not_found.
        """
        call = Call("GET", file_path(file) + "/metadata", root=_ROOT)
        try:
            return self._transport.json_object(call)
        except Refused as refusal:
            if refusal.code == "gone" and isinstance(refusal.extra.get("why"), str):
                refusal.detail = refusal.extra["why"]  # Spec: Errors. This one answer is no problem document.
            raise

    def qr(self, file: str) -> bytes:
        """``GET /api/files/{id}/qr-code``: a PNG that shows the share link. Problems: not_found."""
        return self._transport.send(Call("GET", file_path(file) + "/qr-code", root=_ROOT)).content

    def upload(self, source: "Source", name: str, *, progress: "Callable[[int], None] | None" = None) -> dict[str, Any]:
        """``POST /api/files``: share a document without an account; the upload result with ``claimToken`` and
        ``manageToken``. ``source``, ``name`` and ``progress`` as in ``files.upload``.

        It is not repeated once it may have arrived: nobody could find the file whose answer was lost. Problems:
        not_found (the server takes none), bad_request, payload_too_large, unprocessable, rate_limited, unavailable.
        """
        from docshare.client.body import MultipartFile

        body = MultipartFile(source, name, progress=progress)
        call = Call("POST", "/files", body=body, repeatable=False, read_timeout=UPLOAD_TIMEOUT, root=_ROOT)
        return self._transport.json_object(call)

    def oembed(self, url: str, *, max_width: int | None = None, max_height: int | None = None) -> dict[str, Any]:
        """``GET /oembed``: the oEmbed document of the share link ``url``, whose slug form is known too; sizes in
        pixels. Problems: not_found (also for dead links)."""
        sizes = {"maxwidth": max_width, "maxheight": max_height}
        params = {"url": url} | {name: size for name, size in sizes.items() if size is not None}
        return self._transport.json_object(Call("GET", "/oembed", params, root=""))
