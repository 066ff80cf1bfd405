"""Response headers with text from outside, encoded so that it cannot inject other headers or parameters."""

import re
from urllib.parse import quote

# RFC 8187 attr-char other than letters and digits.
_ATTR_CHARS = "!#$&+-.^_`|~"
# Characters that all parsers of a quoted string interpret in the same way: ASCII without quotes, backslash, percent
# sign and controls.
_SAFE_NAME = re.compile(r"[ !#$&-\[\]-~]+")
_UNSAFE_CHAR = re.compile(r"[^ !#$&-\[\]-~]")


def content_disposition(kind: str, filename: str) -> str:
    """Return ``Content-Disposition`` of ``kind`` (``inline`` or ``attachment``) for a file of that name (RFC 6266).

    A name that clients could read differently is sent twice: as ASCII for old clients, and exactly in ``filename*``.
    """
    if _SAFE_NAME.fullmatch(filename):
        return f'{kind}; filename="{filename}"'
    exact = quote(filename.encode("utf-8", "replace"), safe=_ATTR_CHARS)
    return f"{kind}; filename=\"{_UNSAFE_CHAR.sub('_', filename)}\"; filename*=UTF-8''{exact}"
