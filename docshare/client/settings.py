"""Settings of files (section File settings)."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from docshare.client.files import file_path
from docshare.client.json_body import JsonBody
from docshare.client.retries import Call

if TYPE_CHECKING:
    from docshare.client.transport import Transport


class Settings:
    """``client.settings``. The current values stand in the File object: ``client.files.show``."""

    def __init__(self, transport: "Transport") -> None:
        self._transport = transport

    def write(self, file: str, values: Mapping[str, Any]) -> None:
        """``PUT /files/{id}/settings``: change the settings of a file, all of them or none.

        Parameters:
            file: a UUID or a short id.
            values: the fields to change, as section File settings names them. Fields left out keep their value, but
                ``viewerSettings`` replaces the whole stored object.

        Problems: bad_request, plan_required, not_found, conflict (the slug is taken), gone (an expired or burned link),
        payload_too_large (a page range on a file above 100 MB).
        """
        self._transport.send(Call("PUT", f"{file_path(file)}/settings", body=JsonBody(dict(values))))
