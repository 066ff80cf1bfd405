"""The base class of the nouns of a client."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from docshare.client.http.transport import Transport


class Resource:
    """One noun of the API, such as ``client.files``."""

    def __init__(self, transport: "Transport") -> None:
        self._transport = transport

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._transport.address.base}>"
