"""A form as the body of a request, to be sent as ``json_body.JsonBody`` is."""

from collections.abc import Iterator, Mapping
from urllib.parse import urlencode


class FormBody:
    """``values`` as an HTML form sends them. ``started`` and ``exhausted``: whether any and all of it was handed
    over."""

    content_type = "application/x-www-form-urlencoded"

    def __init__(self, values: Mapping[str, str]) -> None:
        self._raw = urlencode(values).encode()
        self.started = self.exhausted = False

    def __len__(self) -> int:
        return len(self._raw)

    def __iter__(self) -> Iterator[bytes]:
        self.started = self.exhausted = True  # it goes out in one piece
        yield self._raw
