"""A JSON body of a request, to be sent as ``body.MultipartFile`` is: with its length known, and again if need be."""

import json
from collections.abc import Iterator


class JsonBody:
    """``value`` as UTF-8 JSON. ``started`` and ``exhausted``: whether any of it, and all of it, was handed over."""

    content_type = "application/json"

    def __init__(self, value: object) -> None:
        self._raw = json.dumps(value).encode()
        self.started = self.exhausted = False

    def __len__(self) -> int:
        return len(self._raw)

    def __iter__(self) -> Iterator[bytes]:
        self.started = self.exhausted = True  # it goes out in one piece
        yield self._raw
