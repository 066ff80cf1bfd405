"""Assets of a file: its logo, its background, and sounds of its hotspots."""

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from docshare.client.http.call import Call
from docshare.client.http.recovery import send_once
from docshare.client.http.resource import Resource
from docshare.client.links import file_path
from docshare.contract.media import ASSET_KINDS

if TYPE_CHECKING:
    from docshare.client.http.body import BinarySource
    from docshare.client.types.files import Asset


class AssetsApi(Resource):
    """``client.assets``.

    Example::

        with open("logo.png", "rb") as image:
            asset = client.assets.add(link, image, "logo.png", "logo")
        client.settings.write(link, {"viewerSettings": {"logo": {"assetId": asset["assetId"]}}})
    """

    def add(
        self, file: str, source: "BinarySource", name: str, kind: str, *, progress: Callable[[int], None] | None = None
    ) -> "Asset":
        """Upload an asset (``POST /files/{id}/assets``) and return ``{assetId, kind, mimeType, size}``.

        Parameters:
            file: a UUID or a short id.
            source: a seekable binary file: PNG, JPEG, or WebP up to 5 MB, or MP3 up to 10 MB.
            name: the file name to send.
            kind: a key of ``contract.media.ASSET_KINDS``; a second logo or background replaces the first.
            progress: called with the number of bytes sent so far.

        If the response to the upload of a sound is lost, it is not retried, because that could create a duplicate, but
        raises ``UnknownOutcome``. Problems: bad_request (wrong type, or the file has 10 assets), plan_required (below
        Basic), not_found, payload_too_large.
        """
        from docshare.client.http.body import MultipartFile

        body = MultipartFile(source, name, fields={"kind": kind}, progress=progress)
        is_replaced = kind in ASSET_KINDS and ASSET_KINDS[kind].singleton
        call = Call("POST", f"{file_path(self._transport, file)}/assets", body=body, is_repeatable=is_replaced)
        if is_replaced:
            return cast("Asset", self._transport.json_object(call))
        advice = "The file may have the sound. Another try adds it again."
        return cast("Asset", send_once(self._transport, call, "the upload", advice))
