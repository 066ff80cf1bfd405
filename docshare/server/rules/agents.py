"""Parse a user agent: browser family, kind of device, and whether it identifies itself as a program.

The list of programs is ``crawler-user-agents``; this module adds which of them fetch link previews and which entries
are browsers with a person in front of them. An iPad that requests desktop pages identifies itself as a Mac and is
classified as one.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from crawleruseragents import CRAWLER_USER_AGENTS_DATA, is_crawler

_MAX_CHARS = 512  # characters parsed; matching time is proportional to it

# First match wins: most browsers also name the browsers they are derived from.
_FAMILIES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, re.compile(pattern))
    for name, pattern in (
        ("Edge", r"Edg(e|A|iOS)?/"),
        ("Opera", r"OP(R|X|T|iOS)/|Opera"),
        ("Samsung Internet", r"SamsungBrowser/"),
        ("Silk", r"Silk/"),
        ("Yandex", r"YaBrowser/"),
        ("Vivaldi", r"Vivaldi/"),
        ("DuckDuckGo", r"DuckDuckGo/|Ddg/"),
        ("Firefox", r"Firefox/|FxiOS/"),
        ("Chrome", r"Chrome/|CriOS/|Chromium/|HeadlessChrome/"),
        ("Safari", r"Safari/|(iPhone|iPad|iPod).*AppleWebKit"),
    )
)
BROWSERS = (*(name for name, _ in _FAMILIES), "Other")
"""All families that ``UserAgent.browser`` can have."""
_TABLET = re.compile(r"iPad|Tablet|Silk/|PlayBook|Kindle|Android(?!.*\bMobile\b)")
_MOBILE = re.compile(r"Mobi|iPhone|iPod|Android")

# Listed as programs, but these are browsers embedded in an app or an editor, with a person in front of them.
_BROWSER_MARKS = re.compile(r"MetaIAB Facebook|AP3A\.240617\.008|\bCode/1\.|\bTrae/")
_HEADLESS = re.compile(r"headless|phantomjs", re.IGNORECASE)
_PREVIEWS = re.compile(
    "|".join(entry["pattern"] for entry in CRAWLER_USER_AGENTS_DATA if "social-preview" in entry["tags"])
)


@dataclass(frozen=True)
class UserAgent:
    """A parsed user agent.

    ``browser``: family such as ``Firefox``, or ``Other``; ``device``: ``Desktop``, ``Mobile`` or ``Tablet``;
    ``program``: if the agent identifies itself as a program, its class (``preview`` or ``tool``) and the reason as
    text.
    """

    browser: str
    device: str
    program: tuple[str, str] | None = None


@lru_cache(maxsize=1024)
def parse_user_agent(user_agent: str) -> UserAgent:
    """Parse the ``User-Agent`` header ``user_agent`` (empty if it was not sent)."""
    text = user_agent[:_MAX_CHARS]
    return UserAgent(_find_browser(text), _find_device(text), _detect_program(text))


def _find_browser(text: str) -> str:
    return next((name for name, pattern in _FAMILIES if pattern.search(text)), BROWSERS[-1])


def _find_device(text: str) -> str:
    if _TABLET.search(text):
        return "Tablet"
    return "Mobile" if _MOBILE.search(text) else "Desktop"


def _detect_program(text: str) -> tuple[str, str] | None:
    if not text.strip():
        return "tool", "no user agent"
    own_name = _BROWSER_MARKS.sub("", text)
    if _PREVIEWS.search(own_name):
        return "preview", "the user agent names a link preview"
    if _HEADLESS.search(own_name):
        return "tool", "the user agent names a headless browser"
    if is_crawler(own_name):
        return "tool", "the user agent names a program"
    return None
