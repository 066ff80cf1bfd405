"""Request bodies that are sent in one piece, with the interface of ``body.MultipartFile``."""

import json
from collections.abc import Iterator, Mapping
from urllib.parse import urlencode


class WholeBody:
    """The bytes ``raw``. ``started`` and ``exhausted``: whether some of it, and all of it, was sent."""

    content_type: str

    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self.started = self.exhausted = False

    def __len__(self) -> int:
        return len(self._raw)

    def __iter__(self) -> Iterator[bytes]:
        self.started = self.exhausted = True
        yield self._raw


class JsonBody(WholeBody):
    """``value`` encoded as UTF-8 JSON."""

    content_type = "application/json"

    def __init__(self, value: object) -> None:
        super().__init__(json.dumps(value).encode())


class FormBody(WholeBody):
    """``values`` encoded like an HTML form."""

    content_type = "application/x-www-form-urlencoded"

    def __init__(self, values: Mapping[str, str]) -> None:
        super().__init__(urlencode(values).encode())
