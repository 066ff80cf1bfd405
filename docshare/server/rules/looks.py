"""Help for choosing the appearance of a share page: presets to start from, and warnings about contrast. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from docshare.contract.viewer import VIEWER_BLOCKS
from docshare.server.rules import colors, stylesheet
from docshare.server.rules.colors import Color

MIN_SHAPE_CONTRAST = 3.0  # contrast of a control with what surrounds it


@dataclass(frozen=True)
class LooksPreset:
    """An appearance to start from: its ``key``, its ``label``, and a ``viewerSettings`` object with the blocks of
    ``PRESET_BLOCKS``, of which missing fields have their defaults."""

    key: str
    label: str
    settings: Mapping[str, Mapping[str, Any]]


PRESET_BLOCKS: Mapping[str, tuple[str, ...]] = {
    "background": ("type", "color", "preset"),
    "page": ("shadow", "rounded", "edges"),
    "brand": ("accentColor", "toolbarTheme"),
}
"""The fields that a preset sets; all others, such as the logo, are kept."""

PRESETS: tuple[LooksPreset, ...] = (
    LooksPreset("plain", "Plain", {}),
    LooksPreset(
        "cinema",
        "Cinema",
        {
            "background": {"color": "#101014"},
            "page": {"shadow": 3},
            "brand": {"accentColor": "#8aa6ff", "toolbarTheme": "dark"},
        },
    ),
    LooksPreset(
        "paper",
        "Warm paper",
        {
            "background": {"type": "gradient", "preset": "sand"},
            "page": {"shadow": 2, "rounded": 1, "edges": True},
            "brand": {"accentColor": "#8a4b12"},
        },
    ),
    LooksPreset(
        "dusk",
        "Dusk",
        {
            "background": {"type": "gradient", "preset": "dusk"},
            "page": {"shadow": 2, "rounded": 2},
            "brand": {"accentColor": "#5b45b0"},
        },
    ),
    LooksPreset(
        "forest",
        "Forest",
        {
            "background": {"type": "gradient", "preset": "forest"},
            "page": {"shadow": 2, "rounded": 1},
            "brand": {"accentColor": "#1f6f43"},
        },
    ),
    LooksPreset(
        "gallery",
        "Gallery",
        {
            "background": {"color": "#e9e9ec"},
            "page": {"shadow": 3},
            "brand": {"accentColor": "#b3261e", "toolbarTheme": "light"},
        },
    ),
)


def expand_preset(preset: LooksPreset) -> dict[str, Any]:
    """Return the values of all fields that ``preset`` sets, by the name of their control."""
    return {
        f"viewerSettings.{block}.{name}": preset.settings.get(block, {}).get(name, VIEWER_BLOCKS[block][name].default)  # type: ignore[index]
        for block, names in PRESET_BLOCKS.items()
        for name in names
    }


def list_contrast_warnings(settings: Mapping[str, Any]) -> list[str]:
    """Return what readers could hardly see with these ``settings`` (every field of every block), one sentence each.

    The viewer changes the shade of text that would be unreadable, so that is a warning too: the color that readers see
    is not the chosen one.
    """
    return [*_check_accent(settings), *_check_button(settings)]


def _check_accent(settings: Mapping[str, Any]) -> Iterator[str]:
    accent = settings["brand"]["accentColor"]
    if accent != VIEWER_BLOCKS["brand"]["accentColor"].default:  # type: ignore[index]
        yield from _check_text("The accent color", colors.parse_color(accent), settings)


def _check_button(settings: Mapping[str, Any]) -> Iterator[str]:
    button, background = settings.get("cta", {}), settings["background"]
    if "color" not in button:
        return
    chosen = colors.parse_color(button["color"])
    if button["style"] == "outline":
        if button["color"].lower() != settings["brand"]["accentColor"].lower():  # reported as the accent already
            yield from _check_text("The color of the button", chosen, settings)
    elif button["position"] == "bar":
        for scheme in stylesheet.list_schemes(settings):
            surface = colors.parse_color(stylesheet.THEMES[scheme]["surface"])
            yield from _check_shape("The button", chosen, f"the {scheme} bar", surface)
    elif background["type"] == "solid" and background["color"] != VIEWER_BLOCKS["background"]["color"].default:  # type: ignore[index]
        yield from _check_shape("The button", chosen, "the background", colors.parse_color(background["color"]))


def _check_text(what: str, chosen: Color, settings: Mapping[str, Any]) -> Iterator[str]:
    # No color is readable on both toolbars. Where readers choose, the light one counts: in a dark one, they expect
    # lighter shades.
    scheme = stylesheet.list_schemes(settings)[0]
    ratio = min(colors.contrast_ratio(chosen, ground) for ground in stylesheet.list_grounds(scheme))
    if ratio < colors.MIN_CONTRAST:
        shade = "darker" if scheme == "light" else "lighter"
        yield (
            f"{what} is hard to read on the {scheme} toolbar: its contrast is {_format_ratio(ratio)}, and text "
            f"needs {_format_ratio(colors.MIN_CONTRAST)}. Readers see a {shade} shade of it."
        )


def _check_shape(what: str, chosen: Color, where: str, ground: Color) -> Iterator[str]:
    ratio = colors.contrast_ratio(chosen, ground)
    if ratio < MIN_SHAPE_CONTRAST:
        yield (
            f"{what} is hard to see on {where}: its contrast is {_format_ratio(ratio)}, and controls need "
            f"{_format_ratio(MIN_SHAPE_CONTRAST)}."
        )


def _format_ratio(ratio: float) -> str:
    """Return ``ratio`` as in ``4.5:1``, rounded down, so that a failing ratio never looks like a passing one."""
    return f"{int(ratio * 10) / 10:g}:1"
