"""Imports: the server fetches a PDF from another host."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from docshare.client.errors import ConnectionLost, NotAnApi, Refused, TimedOut, UnknownOutcome
from docshare.client.http.call import Call
from docshare.client.http.resource import Resource
from docshare.client.http.whole_body import JsonBody
from docshare.client.options import UPLOAD_TIMEOUT
from docshare.contract.wire import drop_none

if TYPE_CHECKING:
    from docshare.client.http.transport import Transport
    from docshare.client.types.files import ImportResult

_PATH = "/files/import"
# files.import answers 409 if nothing happened and the caller should retry; a source may fail once (502).
_RETRY_LIMITS = {409: 2, 502: 1}
_GATEWAY_TIMEOUT = 504  # from a proxy whose timeout is shorter than an import
_RETRY_ADVICE = "Check the list of files before you try again."


class ImportsApi(Resource):
    """``client.imports``.

    Example::

        try:
            print(client.imports.create("https://files.example/poster.pdf")["shareUrl"])
        except docshare.Problem as problem:
            print(problem.code, problem.hint)
    """

    def create(
        self,
        url: str,
        name: str | None = None,
        *,
        design_user_token: str | None = None,
        design_token: str | None = None,
    ) -> "ImportResult":
        """Import a PDF (``POST /files/import``) and return ``{uuid, shortId, shareUrl}``, with ``palette`` if the first
        page has images, and with ``republished`` and ``contentVersion`` for two valid tokens of the design tool.

        Parameters:
            url: an https address on a host that the operator of the server allows.
            name: the file name that readers see; None: the server chooses it.
            design_user_token, design_token: the user and the design; together they bind the file to the design, or
                replace the document of the file that is already bound to it. Invalid tokens are ignored.

        The API has no idempotency keys, and a server whose response is lost may still be fetching. The client then does
        not retry, but raises ``UnknownOutcome``. Problems: bad_request (also: not a PDF), forbidden (host, file limit,
        updates turned off), conflict, payload_too_large, bad_gateway (the source), unavailable.
        """
        tokens = {"designToolUserToken": design_user_token, "designToken": design_token}
        return cast(
            "ImportResult",
            request_import(self._transport, _PATH, drop_none({"url": url, "filename": name, **tokens}), _RETRY_ADVICE),
        )


def request_import(transport: "Transport", path: str, body: Mapping[str, Any], look: str) -> Mapping[str, Any]:
    """Return the response to the import at ``path``; ``look``: the hint if it is lost. Raise as ``create`` does."""
    call = Call(
        "POST", path, body=JsonBody(body), is_repeatable=False, read_timeout=UPLOAD_TIMEOUT, retry_limits=_RETRY_LIMITS
    )
    try:
        return transport.json_object(call)
    except (ConnectionLost, NotAnApi, Refused, TimedOut) as error:
        if isinstance(error, Refused) and error.status != _GATEWAY_TIMEOUT:
            raise
        raise UnknownOutcome(
            f"the answer to the import was lost ({error})",
            hint=f"The server may still be fetching. {look}",
            method="POST",
            path=call.whole_path,
        ) from error
