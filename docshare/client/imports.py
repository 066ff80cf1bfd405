"""Imports (section Endpoints, Files): the server fetches a PDF by itself."""

from typing import TYPE_CHECKING, Any

from docshare.client.errors import ConnectionLost, NotAnApi, Refused, TimedOut, UnknownOutcome
from docshare.client.json_body import JsonBody
from docshare.client.options import UPLOAD_TIMEOUT
from docshare.client.retries import Call

if TYPE_CHECKING:
    from docshare.client.transport import Transport

_PATH = "/files/import"
# Spec: Endpoints. 409 is the server's word that nothing happened and to try again; a source may hiccup once.
_AGAIN = {409: 2, 502: 1}
_GATEWAY_TIMEOUT = 504  # of a proxy that waits for less time than an import may take


class Imports:
    """``client.imports``."""

    def __init__(self, transport: "Transport") -> None:
        self._transport = transport

    def create(self, url: str, name: str | None = None) -> dict[str, Any]:
        """``POST /files/import``: the import result ``{uuid, shortId, shareUrl}``, and ``palette`` where the first page
        has images.

        Parameters:
            url: an https address on a host that the server's operator allows.
            name: the file name that readers will see; None leaves it to the server.

        The API knows no idempotency key, and a server whose answer is lost may still be fetching: then nothing is sent
        again and ``UnknownOutcome`` is raised. Problems: bad_request (also: not a PDF), forbidden (host, file limit),
        conflict, payload_too_large, bad_gateway (the source), unavailable.
        """
        body = {"url": url} if name is None else {"url": url, "filename": name}
        call = Call("POST", _PATH, body=JsonBody(body), repeatable=False, read_timeout=UPLOAD_TIMEOUT, again=_AGAIN)
        try:
            return self._transport.json_object(call)
        except (ConnectionLost, NotAnApi, Refused, TimedOut) as error:
            if isinstance(error, Refused) and error.status != _GATEWAY_TIMEOUT:
                raise
            raise UnknownOutcome(
                f"the answer to the import was lost ({error})",
                hint="The server may still be fetching. Look at the list of files before you try again.",
                method="POST",
                path=call.whole_path,
            ) from error
