"""Public data of share links. No credential is needed."""

from typing import TYPE_CHECKING, cast

from docshare.client.errors import Refused
from docshare.client.http.call import Call
from docshare.client.http.recovery import send_once
from docshare.client.http.resource import Resource
from docshare.client.links import extract_public_id
from docshare.client.options import UPLOAD_TIMEOUT

if TYPE_CHECKING:
    from collections.abc import Callable

    from docshare.client.http.body import BinarySource
    from docshare.client.types.files import AnonymousUploadResult, OEmbed, PublicMetadata

_ROOT = "/api"


class PublicApi(Resource):
    """``client.public``. Every ``file`` is the UUID or short id of a file or a variant; never a slug.

    Example::

        print(client.public.metadata(link)["totalPages"], client.public.oembed(link)["html"])
    """

    def metadata(self, file: str) -> "PublicMetadata":
        """Return the public metadata of a link (``GET /api/files/{id}/metadata``).

        A link that has ended raises the problem ``gone`` with ``extra``: ``reason`` (``expired``, ``burned``),
        ``why``, ``endedAt``, and, unless it was gated, ``originalName``. Other problems: not_found.
        """
        call = Call("GET", f"/files/{extract_public_id(file)}/metadata", root=_ROOT)
        try:
            return cast("PublicMetadata", self._transport.json_object(call))
        except Refused as refusal:
            if refusal.code == "gone" and isinstance(refusal.extra.get("why"), str):
                refusal.detail = refusal.extra["why"]  # not a problem document
            raise

    def qr(self, file: str) -> bytes:
        """Return the QR code of the share link as PNG (``GET /api/files/{id}/qr-code``). Problems: not_found."""
        return self._transport.send(Call("GET", f"/files/{extract_public_id(file)}/qr-code", root=_ROOT)).content

    def upload(
        self, source: "BinarySource", name: str, *, progress: "Callable[[int], None] | None" = None
    ) -> "AnonymousUploadResult":
        """Share a document without an account (``POST /api/files``) and return the upload result with ``claimToken``
        and ``manageToken``. ``source``, ``name``, and ``progress`` are as in ``files.upload``.

        If the response is lost, the file may have a link, but nobody has its tokens. The client then does not retry,
        but raises ``UnknownOutcome``. Problems: not_found (turned off), bad_request, payload_too_large, unprocessable,
        rate_limited, unavailable.
        """
        from docshare.client.http.body import MultipartFile

        body = MultipartFile(source, name, progress=progress)
        call = Call("POST", "/files", body=body, is_repeatable=False, read_timeout=UPLOAD_TIMEOUT, root=_ROOT)
        advice = "The document may be shared under an unknown link until it expires. Another try creates another link."
        return cast("AnonymousUploadResult", send_once(self._transport, call, "the upload", advice))

    def oembed(self, url: str, *, max_width: int | None = None, max_height: int | None = None) -> "OEmbed":
        """Return the oEmbed document of the share link ``url``, which may contain a slug (``GET /oembed``). Sizes are
        in pixels. Problems: not_found (also for links that have ended)."""
        sizes = {"maxwidth": max_width, "maxheight": max_height}
        params = {"url": url} | {name: size for name, size in sizes.items() if size is not None}
        return cast("OEmbed", self._transport.json_object(Call("GET", "/oembed", params, root="")))
