"""Whatever colour an owner chooses, what stands on it or in it can be read."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from docshare.server.rules import colors
from docshare.server.rules.colors import Color

anything = st.builds(Color, *[st.integers(0, 255)] * 3)
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
def test_contrast_is_that_of_wcag(one: str, two: str, expected: float) -> None:
    assert colors.contrast_ratio(colors.parse_color(one), colors.parse_color(two)) == pytest.approx(expected, abs=0.01)
    assert colors.contrast_ratio(colors.parse_color(two), colors.parse_color(one)) == pytest.approx(expected, abs=0.01)


@settings(deadline=None)
@given(anything)
def test_there_is_a_readable_ink_for_every_ground(ground: Color) -> None:
    assert colors.contrast_ratio(colors.text_color_on(ground), ground) >= 4.5


@settings(deadline=None)
@given(anything, st.sampled_from([LIGHT, DARK]))
def test_every_colour_becomes_readable_on_paper_and_in_the_dark(colour: Color, grounds: tuple[Color, ...]) -> None:
    shown = colors.make_readable(colour, grounds)
    assert min(colors.contrast_ratio(shown, ground) for ground in grounds) >= 4.5


def test_a_colour_that_can_be_read_stays_itself() -> None:
    assert str(colors.make_readable(colors.parse_color("#2B55D4"), LIGHT)) == "#2b55d4"


def test_a_colour_is_changed_no_further_than_needed() -> None:
    shown = colors.make_readable(colors.parse_color("#ffcc00"), LIGHT)
    assert colors.contrast_ratio(shown, LIGHT[1]) < 5
    assert shown.red > shown.green > shown.blue == 0


@pytest.mark.parametrize("text", ["", "red", "#fff", "#12345", "#1234567", "123456#", "#gggggg", "#12 45 ", "#١٢٣٤٥٦"])
def test_what_is_no_colour_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a color"):
        colors.parse_color(text)
