"""Response headers that carry text from outside, so encoded that nothing can break out of them."""

import re
from urllib.parse import quote

# RFC 8187 attr-char beyond letters and digits.
_ATTR_CHARS = "!#$&+-.^_`|~"
# What every reader of a quoted string understands alike: no quote, backslash or percent sign, no control, no non-ASCII.
_SAFE_NAME = re.compile(r"[ !#$&-\[\]-~]+")
_UNSAFE_CHAR = re.compile(r"[^ !#$&-\[\]-~]")


def content_disposition(kind: str, filename: str) -> str:
    """``Content-Disposition`` of ``kind`` (``inline`` or ``attachment``) for a file of that name (RFC 6266).

    A name that not every client would read alike stands twice: as ASCII for the old, and exact in ``filename*``.
    """
    if _SAFE_NAME.fullmatch(filename):
        return f'{kind}; filename="{filename}"'
    exact = quote(filename.encode("utf-8", "replace"), safe=_ATTR_CHARS)
    return f"{kind}; filename=\"{_UNSAFE_CHAR.sub('_', filename)}\"; filename*=UTF-8''{exact}"
