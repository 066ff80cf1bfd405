"""Regular expressions for the names of files and links, and a class that compiles them on first use.

Most commands use few of them. Compiling all at import would make ``settings set`` execute 2 % more instructions, which
is about its distance to the target of 12 times ``python -c pass``.
"""

import re
from functools import cached_property


class Pattern:
    """A lazy ``re.compile(text, flags)``."""

    def __init__(self, text: str, flags: int = 0) -> None:
        self._text, self._flags = text, flags

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile(self._text, self._flags)

    def fullmatch(self, text: str) -> re.Match[str] | None:
        """Return the match of the whole ``text``, or None."""
        return self._pattern.fullmatch(text)

    def search(self, text: str) -> re.Match[str] | None:
        """Return the first match anywhere in ``text``, or None."""
        return self._pattern.search(text)


SHORT_ID_CHARS = 12
SLUG_CHARS = 64

UUID = Pattern("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE | re.ASCII)
"""A UUID in either case. The canonical form, which is stored and sent, is in lower case."""
SHORT_ID = Pattern(f"[0-9A-Za-z]{{{SHORT_ID_CHARS}}}")
"""A short id. The case matters."""
SLUG = Pattern(f"[a-z0-9-]{{1,{SLUG_CHARS}}}")
"""A slug, in lower case only. Some short ids are slugs too."""
LINK_NAME = Pattern(f"[A-Za-z0-9-]{{1,{SLUG_CHARS}}}")
"""Every UUID, short id and slug, and other text without characters that none of them contains."""
