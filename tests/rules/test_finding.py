"""Folding, counting, and the line of context of a match."""

import pytest

from docshare.server.rules.finding import (
    UNREAD_PAGE,
    Passage,
    count_matches,
    fold_page,
    list_passages,
    make_block,
    normalize_words,
    parse_block,
)

FOLDED = {
    "Straße CAFÉ": "straße cafe",
    "e\u0301": "e\u0301",  # the accent stays where it is a character of its own
    "a\u00a0b\u2009c\tD": "a b c d",
    "İΣς": "iσς",
    "ﬁn": "ﬁn",
    "한글": "\u1112\u1100",
    "שָׁלוֹם": "שָׁלוֹם",
    "\U00010400": "\U00010400",
}


@pytest.mark.parametrize(("text", "folded"), FOLDED.items())
def test_folding_keeps_the_length(text: str, folded: str) -> None:
    assert fold_page(text) == folded
    assert len(folded) == len(text)


@pytest.mark.parametrize(("typed", "words"), [("  Two \u00a0  Words ", "two words"), ("", ""), (" \n", ""), ("É", "e")])
def test_what_is_typed_is_normalized(typed: str, words: str) -> None:
    assert normalize_words(typed) == words


def test_matches_do_not_overlap() -> None:
    assert count_matches("aaaaa", "aa") == 2


def test_a_passage_begins_and_ends_with_a_whole_word() -> None:
    text = f"{'before ' * 20}CAFÉ {'after ' * 40}"
    (found,) = list_passages(text, fold_page(text), "cafe", 5)
    assert found == Passage(f"…{'before ' * 4}", "CAFÉ", f"{' after' * 8}…")


def test_a_short_page_is_its_own_context() -> None:
    assert list_passages("one two one", "one two one", "one", 1) == [Passage("", "one", " two one")]
    assert list_passages("one two one", "one two one", "one", 9) == [
        Passage("", "one", " two one"),
        Passage("one two ", "one", ""),
    ]


def test_a_page_without_spaces_is_cut_anyway() -> None:
    (found,) = list_passages("x" * 100 + "needle" + "y" * 200, "x" * 100 + "needle" + "y" * 200, "needle", 1)
    assert (found.before, found.after) == ("…" + "x" * 30, "y" * 50 + "…")


def test_a_block_is_stored_with_its_folded_text() -> None:
    block = make_block(["One É", "", UNREAD_PAGE])
    assert parse_block(block.serialize()) == block
    assert block.folded == ["one e", "", UNREAD_PAGE]
