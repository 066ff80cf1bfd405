"""Settings of files."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from docshare.client.http.call import Call
from docshare.client.http.resource import Resource
from docshare.client.http.whole_body import JsonBody
from docshare.client.links import file_path

if TYPE_CHECKING:
    from docshare.client.types.settings import FileSettings


class SettingsApi(Resource):
    """``client.settings``. The File object contains the current values: ``client.files.show``.

    Example::

        client.settings.write(link, {"slug": "handbook", "viewerMode": "flipbook"})
    """

    def write(self, file: str, values: "FileSettings | Mapping[str, Any]") -> None:
        """Change settings of a file, all of them or none (``PUT /files/{id}/settings``).

        Parameters:
            file: a UUID or a short id.
            values: the fields to change, named as in openapi.yaml. Omitted fields keep their values, but
                ``viewerSettings`` replaces the whole stored object.

        Problems: bad_request, plan_required, not_found, conflict (the slug is taken), gone (an expired or burned link),
        payload_too_large (a page range on a file above 100 MB).
        """
        self._transport.send(Call("PUT", f"{file_path(self._transport, file)}/settings", body=JsonBody(dict(values))))
