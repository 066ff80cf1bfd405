"""Text stays readable in or on any color that an owner chooses."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from docshare.server.rules import colors
from docshare.server.rules.colors import Color

any_color = st.builds(Color, *[st.integers(0, 255)] * 3)
LIGHT = (Color(255, 255, 255), Color(241, 240, 238))
DARK = (Color(27, 27, 30), Color(35, 35, 39), Color(19, 19, 21))


@pytest.mark.parametrize(
    ("one", "two", "expected"),
    [
        ("#000000", "#ffffff", 21.0),
        ("#777777", "#FFFFFF", 4.48),
        ("#ff0000", "#ffffff", 4.0),
        ("#0000ff", "#ffffff", 8.59),
        ("#123456", "#123456", 1.0),
    ],
)
def test_contrast_ratio_follows_wcag(one: str, two: str, expected: float) -> None:
    assert colors.contrast_ratio(colors.parse_color(one), colors.parse_color(two)) == pytest.approx(expected, abs=0.01)
    assert colors.contrast_ratio(colors.parse_color(two), colors.parse_color(one)) == pytest.approx(expected, abs=0.01)


@settings(deadline=None)
@given(any_color)
def test_every_background_has_a_readable_text_color(background: Color) -> None:
    assert colors.contrast_ratio(colors.text_color_on(background), background) >= 4.5


@settings(deadline=None)
@given(any_color, st.sampled_from([LIGHT, DARK]))
def test_every_color_becomes_readable_on_light_and_dark_backgrounds(
    color: Color, backgrounds: tuple[Color, ...]
) -> None:
    readable = colors.make_readable(color, backgrounds)
    assert min(colors.contrast_ratio(readable, background) for background in backgrounds) >= 4.5


def test_a_readable_color_is_unchanged() -> None:
    assert str(colors.make_readable(colors.parse_color("#2B55D4"), LIGHT)) == "#2b55d4"


def test_a_color_is_changed_only_as_much_as_necessary() -> None:
    readable = colors.make_readable(colors.parse_color("#ffcc00"), LIGHT)
    assert colors.contrast_ratio(readable, LIGHT[1]) < 5
    assert readable.red > readable.green > readable.blue == 0


@pytest.mark.parametrize("text", ["", "red", "#fff", "#12345", "#1234567", "123456#", "#gggggg", "#12 45 ", "#١٢٣٤٥٦"])
def test_text_that_is_not_a_color_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match="not a color"):
        colors.parse_color(text)
