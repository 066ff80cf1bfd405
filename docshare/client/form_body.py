"""A form as a request body."""

from collections.abc import Mapping
from urllib.parse import urlencode

from docshare.client.whole_body import WholeBody


class FormBody(WholeBody):
    """``values`` encoded like an HTML form."""

    content_type = "application/x-www-form-urlencoded"

    def __init__(self, values: Mapping[str, str]) -> None:
        super().__init__(urlencode(values).encode())
