"""The design-tool routes: the credential of the client is a user token (JWT) of the design tool."""

from typing import TYPE_CHECKING, cast

from docshare.client.http.call import Call
from docshare.client.http.resource import Resource
from docshare.client.http.whole_body import JsonBody
from docshare.client.imports import request_import
from docshare.contract.wire import drop_none

if TYPE_CHECKING:
    from docshare.client.types.files import DesignImportResult, DesignStatus

_IMPORT = "/design-tool/import"
_STATUS = "/design-tool/design/status"
_RETRY_ADVICE = "Ask for the status of the design before you try again."


class DesignApi(Resource):
    """``client.design``.

    Example::

        with docshare.Client("https://docs.example", user_token) as tool:
            result = tool.design.publish("https://files.example/poster.pdf", design_token=design_token)
            print(result["shareUrl"], result["republished"])
    """

    def publish(self, url: str, name: str | None = None, *, design_token: str | None = None) -> "DesignImportResult":
        """Share a design without an account, or replace the document behind the link that the user has for it
        (``POST /design-tool/import``). Return the import result with ``claimToken`` and ``manageToken``, shown once.

        Parameters: ``url`` and ``name`` as in ``imports.create``; ``design_token`` identifies the design. Raise the
        same errors; additional problems: unauthorized, forbidden (claimed, frozen, updates turned off), rate_limited
        (the daily limit).
        """
        body = {"url": url, "filename": name, "designToken": design_token}
        return cast("DesignImportResult", request_import(self._transport, _IMPORT, drop_none(body), _RETRY_ADVICE))

    def status(self, design_token: str, *, access_token: str | None = None) -> "DesignStatus":
        """Return the status of a design (``POST /design-tool/design/status``). ``access_token``: an API key or access
        token; the status then tells whether the link belongs to its account. Problems: unauthorized, unavailable.
        """
        body = {"designToken": design_token, "accessToken": access_token}
        return cast("DesignStatus", self._transport.json_object(Call("POST", _STATUS, body=JsonBody(drop_none(body)))))
