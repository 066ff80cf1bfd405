"""The name under which an upload is stored."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docshare.contract.names import clean_name


@pytest.mark.parametrize(
    ("sent", "name"),
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
def test_a_name_is_cleaned(sent: str, name: str) -> None:
    assert clean_name(sent) == name


@pytest.mark.parametrize("sent", [None, "", "   ", ".", "..", "a/", "dir\\", "\x00\x01", "...", "\u202e"])
def test_an_empty_name_becomes_the_fallback(sent: str | None) -> None:
    assert clean_name(sent) == "document.pdf"


def test_a_long_name_is_truncated_before_its_extension() -> None:
    name = clean_name("x" * 400 + ".pdf")
    assert name == "x" * 251 + ".pdf"


def test_a_long_name_is_truncated_between_characters() -> None:
    name = clean_name("語" * 200 + ".pdf")
    assert name == "語" * 83 + ".pdf"
    assert len(name.encode()) <= 255


def test_a_long_name_without_a_short_extension_is_truncated_at_its_end() -> None:
    assert clean_name("a." + "b" * 400) == "a." + "b" * 253


@given(st.text())
def test_any_text_becomes_a_name_without_control_characters(sent: str) -> None:
    name = clean_name(sent)
    assert name
    assert 0 < len(name.encode()) <= 255
    assert "/" not in name
    assert "\\" not in name
    assert not [char for char in name if unicodedata.category(char) in {"Cc", "Cs"}]


@given(st.text())
def test_cleaning_a_name_is_idempotent(sent: str) -> None:
    assert clean_name(clean_name(sent)) == clean_name(sent)
