"""Find words in the text of pages, by the same rules as the viewer on the pages that it shows.

``fold_page`` and ``normalize_words`` correspond to ``fold`` of ``pagetext.js`` and to ``search.js``, so that the viewer
marks on a page what was counted here.
"""

import re
import unicodedata
from dataclasses import dataclass

MAX_WORDS_CHARS = 200
PAGE_END = "\f"  # between the texts of pages; never part of one
UNREAD_PAGE = "\0"  # in place of the text of a page that cannot be read
_HALVES = "\v"  # between the texts and the folded texts of a block
_BEFORE_CHARS, _AFTER_CHARS = 30, 50
_SPACE = re.compile("[\t\n\v\f\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]")
_LAST_BMP_CODE = 0xFFFF  # JavaScript folds a character above it in two halves, which changes neither


@dataclass(frozen=True)
class Passage:
    """One match in its line of context: the text ``before``, the ``match``, and the text ``after`` it."""

    before: str
    match: str
    after: str


@dataclass(frozen=True)
class TextBlock:
    """The texts of consecutive pages, each with its folded form of the same length; ``UNREAD_PAGE`` stands for a page
    that cannot be read."""

    texts: list[str]
    folded: list[str]

    def serialize(self) -> bytes:
        """Return the block as bytes for ``parse_block``."""
        return _HALVES.join((PAGE_END.join(self.texts), PAGE_END.join(self.folded))).encode()


def make_block(texts: list[str]) -> TextBlock:
    """Return the block of the pages with the given ``texts``."""
    return TextBlock(texts, [fold_page(text) for text in texts])


def parse_block(stored: bytes) -> TextBlock:
    """Return the block that was serialized as ``stored``."""
    texts, _, folded = stored.decode().partition(_HALVES)
    return TextBlock(texts.split(PAGE_END), folded.split(PAGE_END))


def fold_page(text: str) -> str:
    """Return ``text`` without case, accents and kinds of white space, of the same length."""
    spaced = _SPACE.sub(" ", text)
    return spaced.lower() if spaced.isascii() else spaced.translate(_FOLDED)


def normalize_words(typed: str) -> str:
    """Return what to find for the words that a reader ``typed``; empty if there is nothing to find."""
    return re.sub(" +", " ", fold_page(typed).strip(" "))


def count_matches(folded: str, words: str) -> int:
    """Return how often the normalized ``words`` occur in the ``folded`` text of a page, without overlaps."""
    return folded.count(words)


def list_passages(text: str, folded: str, words: str, most: int) -> list[Passage]:
    """Return the first ``most`` matches of the normalized ``words`` on a page, each with its context."""
    found: list[Passage] = []
    at = folded.find(words)
    while at >= 0 and len(found) < most:
        end = at + len(words)
        found.append(Passage(_cut_before(text, at), text[at:end], _cut_after(text, end)))
        at = folded.find(words, end)
    return found


def _cut_before(text: str, at: int) -> str:
    """Return the end of the text before ``at``, from the beginning of a word on."""
    start = max(0, at - _BEFORE_CHARS)
    cut = text[start:at]
    if start == 0:
        return cut
    _, space, rest = cut.partition(" ")
    return f"…{rest}" if space and text[start - 1] != " " else f"…{cut}"


def _cut_after(text: str, end: int) -> str:
    """Return the beginning of the text after ``end``, up to the end of a word."""
    cut = text[end : end + _AFTER_CHARS]
    if end + _AFTER_CHARS >= len(text):
        return cut
    return f"{cut.rpartition(' ')[0] or cut}…"


class _FoldedCharacters(dict[int, str]):
    """The folded form of each character, computed on first use."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        plain = char if code > _LAST_BMP_CODE else unicodedata.normalize("NFD", char)[0].lower()
        folded = self[code] = plain if len(plain) == 1 else char
        return folded


_FOLDED = _FoldedCharacters()
