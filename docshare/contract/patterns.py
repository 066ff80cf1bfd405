"""Regular expressions that are compiled when they are first used: most commands need few of those that there are."""

import re
from functools import cached_property


class Pattern:
    """As ``re.compile(text, flags)``, without the time that takes until something is to be matched."""

    def __init__(self, text: str, flags: int = 0) -> None:
        self._text, self._flags = text, flags

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self._text, self._flags)

    def fullmatch(self, text: str) -> re.Match[str] | None:
        """The match of the whole ``text``, or None."""
        return self._compiled.fullmatch(text)

    def search(self, text: str) -> re.Match[str] | None:
        """The first match anywhere in ``text``, or None."""
        return self._compiled.search(text)
