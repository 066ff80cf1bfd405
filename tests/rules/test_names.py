"""The name under which an upload is kept."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docshare.server.rules.names import clean_name


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("report.pdf", "report.pdf"),
        ("  Q3 report (final).pdf ", "Q3 report (final).pdf"),
        ("C:\\Users\\ada\\report.pdf", "report.pdf"),
        ("/etc/passwd", "passwd"),
        ("../../report.pdf", "report.pdf"),
        ("re\x00po\r\nrt\t.pdf", "report.pdf"),
        ("re\u2028port\u2029.pdf", "report.pdf"),
        ("half \ud800 a pair.pdf", "half  a pair.pdf"),
        ("report\u202efdp.exe", "reportfdp.exe"),
        ("Übersicht – 日本語.pdf", "Übersicht – 日本語.pdf"),
        ('say "hi".pdf', 'say "hi".pdf'),
        (".hidden.pdf", ".hidden.pdf"),
    ],
)
def test_a_name_keeps_what_its_readers_can_bear(sent: str, kept: str) -> None:
    assert clean_name(sent) == kept


@pytest.mark.parametrize("sent", [None, "", "   ", ".", "..", "a/", "dir\\", "\x00\x01", "...", "\u202e"])
def test_a_name_that_is_none_becomes_the_fallback(sent: str | None) -> None:
    assert clean_name(sent) == "document.pdf"


def test_a_long_name_is_cut_before_its_extension() -> None:
    kept = clean_name("x" * 400 + ".pdf")
    assert kept == "x" * 251 + ".pdf"


def test_a_long_name_is_cut_between_characters() -> None:
    kept = clean_name("語" * 200 + ".pdf")
    assert kept == "語" * 83 + ".pdf"
    assert len(kept.encode()) <= 255


def test_a_long_name_without_a_short_extension_is_cut_at_its_end() -> None:
    assert clean_name("a." + "b" * 400) == "a." + "b" * 253


@given(st.text())
def test_any_text_becomes_a_name_without_controls(sent: str) -> None:
    kept = clean_name(sent)
    assert kept
    assert 0 < len(kept.encode()) <= 255
    assert "/" not in kept
    assert "\\" not in kept
    assert not [char for char in kept if unicodedata.category(char) in {"Cc", "Cs"}]


@given(st.text())
def test_cleaning_twice_changes_nothing_more(sent: str) -> None:
    assert clean_name(clean_name(sent)) == clean_name(sent)
