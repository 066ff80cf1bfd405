"""Options of a client, as one value that forks share."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from docshare.client.http.clock import Clock

if TYPE_CHECKING:
    from docshare.client.types.account import Account

CONNECT_TIMEOUT = 10.0  # seconds
UPLOAD_TIMEOUT = 600.0  # seconds; the server may be converting a Word or PowerPoint file


class Exchange(NamedTuple):
    """One request with its response, for logs: ``seconds`` from the first byte sent to the response headers."""

    method: str
    url: str
    status: int
    seconds: float
    request_headers: Mapping[str, str]
    headers: Mapping[str, str]

    def __repr__(self) -> str:  # without the headers and the query, which may contain secrets
        return f"Exchange({self.method} {self.url.partition('?')[0]} {self.status}, {self.seconds * 1000:.0f} ms)"


class ClientOptions(NamedTuple):
    """The keyword arguments of ``Client``, and what the command line adds to them."""

    user_agent: str
    timeout: float
    retries: int
    max_wait: float
    on_wait: Callable[[str, float], None] | None
    on_exchange: Callable[[Exchange], None] | None
    verify: bool | str
    clock: Clock
    local_access: "tuple[str, str] | None" = (
        None  # for a server on this host: its loopback address and its instance key
    )
    on_account: "Callable[[Account], None] | None" = None  # receives each account that the server reports
