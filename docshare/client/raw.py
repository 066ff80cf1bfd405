"""Arbitrary requests, for routes without a method of their own."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from docshare.client.errors import Refused
from docshare.client.http.call import Call
from docshare.client.http.resource import Resource
from docshare.client.http.whole_body import WholeBody
from docshare.client.options import UPLOAD_TIMEOUT
from docshare.client.paging import Feed, Row

if TYPE_CHECKING:
    from docshare.client.http.body import MultipartFile

_GATE_PATHS = ("/api/v1/events", "/api/v1/gate-responses")
_BLOCK = 256 * 1024  # bytes
# RFC 9110, 9.2.2
_IDEMPOTENT = {"GET", "HEAD", "OPTIONS", "PUT", "DELETE"}


class RawResponse(NamedTuple):
    """A 2xx response: its headers, and ``blocks`` of its body, which is read as it arrives."""

    status: int
    headers: Mapping[str, str]
    blocks: Iterator[bytes]


class RawBody(WholeBody):
    """The bytes ``raw`` with the media type ``content_type``."""

    def __init__(self, raw: bytes, content_type: str) -> None:
        super().__init__(raw)
        self.content_type = content_type


class RawApi(Resource):
    """``client.raw``.

    Example::

        response = client.raw.request("GET", "/api/v1/user")
        print(response.status, b"".join(response.blocks))
    """

    def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str | int] | None = None,
        body: "MultipartFile | WholeBody | None" = None,
        headers: Mapping[str, str] | None = None,
    ) -> RawResponse:
        """Send one request below the base address and return the response.

        Parameters: ``method`` in upper case; ``path`` with its leading slash, such as ``/api/v1/files``; ``params`` the
        query; ``headers`` additional headers. A POST or PATCH is not retried once it may have arrived. Raise
        ``Refused``, whose ``body`` is that of the response, and ``TransportError``.
        """
        from docshare.client.http.body import MultipartFile

        call = Call(
            method,
            path,
            params or {},
            body=body,
            is_repeatable=method in _IDEMPOTENT,
            read_timeout=UPLOAD_TIMEOUT if isinstance(body, MultipartFile) else None,
            stream=True,
            root="",
            headers=headers or {},
        )
        try:
            response = self._transport.send(call)
        except Refused as refusal:
            # Below Pro, the gate stream answers 403 in plain text.
            if refusal.status == 403 and refusal.is_plain_text and path.partition("?")[0] in _GATE_PATHS:
                from docshare.client.events import convert_plan_refusal

                raise convert_plan_refusal(refusal) from refusal
            raise
        return RawResponse(response.status_code, response.headers, self._transport.blocks(response, call, _BLOCK))

    def rows_after(self, path: str, cursor: int, params: Mapping[str, str]) -> Iterator[Row]:
        """Yield the rows of the feed at ``path`` (below ``/api/v1``) with ids above ``cursor``, ascending; 0: all."""
        feed: Feed[Row] = Feed(self._transport, path, params)
        return feed.rows_after(cursor)
