"""Neutralizing cells that a spreadsheet would interpret as formulas."""

import unicodedata

import pytest

from docshare.contract.spreadsheets import neutralize_formula

TRIGGERS = "=+-@＝＋－＠﹢﹣﹦﹫⁺⁻⁼₊₋₌−"
UNSEEN = [
    "",
    " ",
    "\ufeff",
    "\u200b",
    "\u200b\ufeff \u00a0",
    "\u202e",
    "\u2060",
    "\ufe0f",
    "\u3164",
    "\x00",
    "\x1b",
    "\U000e0041",
]
PLAIN = ["", "Ann", "1+1", "a=b", "'=1", "\u200bAnn", "  Ann", "é", "🙂", "(=)", "\ufeff", '"=1"', "–", "a@b.example"]


@pytest.mark.parametrize("unseen", UNSEEN, ids=ascii)
@pytest.mark.parametrize("trigger", TRIGGERS, ids=unicodedata.name)
def test_a_formula_is_prefixed_with_a_quote(unseen: str, trigger: str) -> None:
    text = f"{unseen}{trigger}cmd|'/C calc'!A0"
    assert neutralize_formula(text) == f"'{text}"


@pytest.mark.parametrize("text", ["\tAnn", "\r\nAnn", "\nAnn", "\0Ann"], ids=ascii)
def test_a_leading_control_character_is_prefixed_with_a_quote(text: str) -> None:
    assert neutralize_formula(text) == f"'{text}"


@pytest.mark.parametrize("text", PLAIN, ids=ascii)
def test_other_text_is_unchanged(text: str) -> None:
    assert neutralize_formula(text) == text
