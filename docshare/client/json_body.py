"""JSON as a request body."""

import json

from docshare.client.whole_body import WholeBody


class JsonBody(WholeBody):
    """``value`` encoded as UTF-8 JSON."""

    content_type = "application/json"

    def __init__(self, value: object) -> None:
        super().__init__(json.dumps(value).encode())
