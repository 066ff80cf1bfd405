"""Response headers that carry text from outside, so encoded that nothing can break out of them."""

import re
from urllib.parse import quote

# RFC 8187 attr-char beyond letters and digits.
_ATTR_CHARS = "!#$&+-.^_`|~"
# Characters that all parsers of a quoted string read alike: without quotes, backslash, percent sign and controls;
# ASCII.
_SAFE_NAME = re.compile(r"[ !#$&-\[\]-~]+")
_UNSAFE_CHAR = re.compile(r"[^ !#$&-\[\]-~]")


def content_disposition(kind: str, filename: str) -> str:
    """``Content-Disposition`` of ``kind`` (``inline`` or ``attachment``) for a file of that name (RFC 6266).

    A name that clients would read differently is sent twice: as ASCII for old ones, and exact in ``filename*``.
    """
    if _SAFE_NAME.fullmatch(filename):
        return f'{kind}; filename="{filename}"'
    exact = quote(filename.encode("utf-8", "replace"), safe=_ATTR_CHARS)
    return f"{kind}; filename=\"{_UNSAFE_CHAR.sub('_', filename)}\"; filename*=UTF-8''{exact}"
