"""Imports (section Endpoints, Files): the server fetches a PDF by itself."""

from typing import TYPE_CHECKING, Any

from docshare.client.errors import ConnectionLost, NotAnApi, Refused, TimedOut, UnknownOutcome
from docshare.client.json_body import JsonBody
from docshare.client.options import UPLOAD_TIMEOUT
from docshare.client.retries import Call
from docshare.contract.wire import present

if TYPE_CHECKING:
    from docshare.client.transport import Transport

_PATH = "/files/import"
# Spec: Endpoints. 409 is the server's word that nothing happened and to try again; a source may hiccup once.
_AGAIN = {409: 2, 502: 1}
_GATEWAY_TIMEOUT = 504  # of a proxy that waits for less time than an import may take
_LOOK = "Look at the list of files before you try again."


class Imports:
    """``client.imports``."""

    def __init__(self, transport: "Transport") -> None:
        self._transport = transport

    def create(
        self,
        url: str,
        name: str | None = None,
        *,
        design_user_token: str | None = None,
        design_token: str | None = None,
    ) -> dict[str, Any]:
        """``POST /files/import``: the import result ``{uuid, shortId, shareUrl}``, and ``palette`` where the first page
        has images; with two good tokens of the design tool also ``republished`` and ``contentVersion``.

        Parameters:
            url: an https address on a host that the server's operator allows.
            name: the file name that readers will see; None leaves it to the server.
            design_user_token, design_token: who publishes which design; together they bind the file to it, and replace
                the document of one that is bound already. Tokens that are not good count for nothing.

        The API knows no idempotency key, and a server whose answer is lost may still be fetching: then nothing is sent
        again and ``UnknownOutcome`` is raised. Problems: bad_request (also: not a PDF), forbidden (host, file limit,
        updates switched off), conflict, payload_too_large, bad_gateway (the source), unavailable.
        """
        tokens = {"designToolUserToken": design_user_token, "designToken": design_token}
        return fetched(self._transport, _PATH, present({"url": url, "filename": name, **tokens}), _LOOK)


def fetched(transport: "Transport", path: str, body: dict[str, Any], look: str) -> dict[str, Any]:
    """The answer of the import at ``path``; ``look``: what to do first when it is lost. Raises as ``create``."""
    call = Call("POST", path, body=JsonBody(body), repeatable=False, read_timeout=UPLOAD_TIMEOUT, again=_AGAIN)
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
