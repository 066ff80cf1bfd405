"""One request as a value, from the noun that builds it to the transport that sends it."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from docshare.client.http.body import MultipartFile
    from docshare.client.http.whole_body import WholeBody

_EMPTY: Mapping[Any, Any] = MappingProxyType({})


class Call(NamedTuple):
    """One request. ``path`` is relative to ``root``; ``is_repeatable``: the request is idempotent; ``retry_limits``:
    statuses after which it is retried in any case, and how often, because the server then did nothing."""

    method: str
    path: str
    params: Mapping[str, str | int] = _EMPTY
    body: "MultipartFile | WholeBody | None" = None
    is_repeatable: bool = True
    read_timeout: float | None = None  # seconds; None: the client's
    encoding: str | None = None  # Accept-Encoding; None: the default
    stream: bool = False
    retry_limits: Mapping[int, int] = _EMPTY
    root: str = "/api/v1"
    headers: Mapping[str, str] = _EMPTY  # in addition to those of every request

    @property
    def whole_path(self) -> str:
        """Return the path below the base address."""
        return self.root + self.path

    def may_have_arrived(self) -> bool:
        """Return whether the server may have received the whole request."""
        return self.body is None or self.body.exhausted
