"""The style sheet of one file: what its owner set of its looks, as CSS. Pure.

Nothing in it names the link, so that all links of a file may share it: images are at relative addresses.
White as background and black as accent are the defaults, and leave the viewer its own colours, light or dark.
"""

from collections.abc import Callable, Mapping
from typing import Any

from docshare.contract.viewer import CORNERS, PRESETS, VIEWER_BLOCKS
from docshare.server.rules import colours
from docshare.server.rules.colours import Colour

Settings = Mapping[str, Any]

LOGO_HEIGHTS = {"s": 24, "m": 36, "l": 52, "xl": 76}
"""Pixels; as in static/viewer/appearance.css."""
_BUTTON, _BADGE, _BAR, _GAP = 42, 26, 60, 8
_PHONE, _TABLET = "@media (max-width: 760px)", "@media (max-width: 1080px)"
# A phone held sideways; in static/viewer/appearance.css too. There is no dock at the bottom of the wider ones.
_LOW, _LOW_PHONE = "@media (max-height: 479px)", "@media (max-height: 479px) and (max-width: 760px)"
_DARK = "@media (prefers-color-scheme: dark)"
_DOCK = 76  # what the dock takes at the bottom of a phone

# The colours of the frame in static/design.css, for toolbars whose theme is not the reader's.
THEMES = {
    "light": {
        "ground": "#f1f0ee", "surface": "#ffffff", "raised": "#ffffff", "ink": "#1a1a1d", "ink-soft": "#5f5e66",
        "line": "#e2e0dc", "line-strong": "#c9c6c0", "hover": "#f2f1ee", "press": "#e8e6e2", "accent": "#2b55d4",
        "accent-ink": "#ffffff", "paper": "#ffffff", "paper-line": "#eeedea",
    },
    "dark": {
        "ground": "#131315", "surface": "#1b1b1e", "raised": "#232327", "ink": "#ededf0", "ink-soft": "#a5a4ad",
        "line": "#2c2c31", "line-strong": "#46464d", "hover": "#28282c", "press": "#323238", "accent": "#8aa6ff",
        "accent-ink": "#10131f", "paper": "#232327", "paper-line": "#2e2e33",
    },
}  # fmt: skip

# Name -> for light and for dark readers: two soft lights in opposite corners over a slope.
_GRADIENTS = {
    "dusk": (("#ffd9c2", "#b9b4ea", "#f3dfe3", "#cfc9ec"), ("#5b3346", "#2f3a78", "#241f3a", "#14162b")),
    "sand": (("#fff6e3", "#e6d2ae", "#f6ecd8", "#eadcc0"), ("#4a3c28", "#2c2620", "#2a241b", "#171410")),
    "slate": (("#eef2f6", "#b9c6d3", "#dde4ea", "#c8d2dc"), ("#3a4856", "#1f2a36", "#222c36", "#12181e")),
    "forest": (("#eaf3df", "#a9c9b1", "#d6e6d3", "#bfd8c4"), ("#2f4a3a", "#1a3330", "#1b2b23", "#0e1814")),
    "blush": (("#fff0ec", "#f3c1c9", "#fbe2e0", "#f4d2d6"), ("#5a3340", "#3d2338", "#33202a", "#1b1218")),
    "mono": (("#fafafa", "#cfcfd2", "#ebebec", "#dcdcdf"), ("#3a3a3f", "#1e1e22", "#242428", "#121214")),
}
_SHADOWS = {
    0: "0 0 0 0 transparent",
    2: "0 0 0 1px rgb(24 22 18 / 7%), 0 4px 12px rgb(24 22 18 / 12%), 0 24px 48px -10px rgb(24 22 18 / 30%)",
    3: "0 0 0 1px rgb(24 22 18 / 9%), 0 8px 24px rgb(24 22 18 / 18%), 0 44px 84px -12px rgb(24 22 18 / 48%)",
}
_ROUNDED = {1: 6, 2: 12, 3: 20}  # pixels
# The modes that show whole pages at a time have spaces of their own (static/viewer/modes.css).
_TURNED, _MAGAZINE = '.pages:not([data-mode="standard"])', '.pages[data-mode="magazine"]'


def css(settings: Settings) -> str:
    """The style sheet of a file with these ``settings``, every field of every block; empty where all are defaults."""
    parts = (_room, _theme, _accent, _page, _space, _button, _protect, _badge)
    return "".join(part(settings) for part in parts)


def corners(settings: Settings) -> dict[str, list[str]]:
    """What stands in each corner of the window, from above: ``logo``, ``cta`` and ``badge``, each at most once."""
    places = {
        "logo": settings["logo"]["position"] if "assetId" in settings["logo"] else None,
        "cta": settings["cta"]["position"] if "cta" in settings else None,
        "badge": None if settings["logo"]["hideBadge"] else settings["brand"]["badgePosition"],
    }
    return {corner: [piece for piece, place in places.items() if place == corner] for corner in CORNERS}


def _rule(selector: str, **declarations: object) -> str:
    body = "".join(f"{name.replace('_', '-')}:{value};" for name, value in declarations.items())
    return f"{selector}{{{body}}}\n"


def _root(**tokens: object) -> str:
    return _rule(":root", **{f"--{name}": value for name, value in tokens.items()})


def _within(condition: str, rules: str) -> str:
    return f"{condition}{{\n{rules}}}\n"


def _by_scheme(theme: str, make: Callable[[str], str]) -> str:
    """What ``make`` says for the theme of the toolbar: ``light`` or ``dark``, or both, as the reader has it."""
    if theme != "auto":
        return make(theme)
    return make("light") + _within(_DARK, make("dark"))


def _room(settings: Settings) -> str:
    """What is behind the pages."""
    background = settings["background"]
    said = ""
    if background["color"] != VIEWER_BLOCKS["background"]["color"].default:  # type: ignore[index]
        said = _root(room=colours.parse(background["color"]))
    if background["type"] == "gradient":
        # A gradient without a preset is the first of them.
        light, dark = (_gradient(*lights) for lights in _GRADIENTS[background.get("preset", PRESETS[0])])
        said = _layer(background=light) + _within(_DARK, _rule("body::before", background=dark))
    elif background["type"] == "image" and "assetId" in background:
        said += _image(background)
    # The arrows beside the pages must be seen on anything.
    return said and said + _rule(".side .icon", background="var(--raised)", opacity=0.9)


def _gradient(near: str, far: str, start: str, end: str) -> str:
    lights = f"radial-gradient(90% 80% at 12% 0%,{near},transparent),radial-gradient(90% 90% at 92% 100%,{far},"
    return f"{lights}transparent),linear-gradient(160deg,{start},{end})"


def _image(background: Settings) -> str:
    blur, dim = background["blur"], background["dim"]
    shade = f"linear-gradient(rgb(0 0 0 / {dim}%) 0 0)," if dim else ""
    where = f'url("assets/{background["assetId"]}") center / {background["fit"]} no-repeat'
    said = _layer(background=shade + where)
    if blur:
        # Beyond the window, or its edges would fade into the room.
        said += _rule("body::before", inset=f"-{2 * blur}px", filter=f"blur({blur}px)")
    return said


def _layer(**declarations: object) -> str:
    """A sheet as large as the window behind everything, however long the document is."""
    return _rule("body::before", content='""', position="fixed", z_index=-1, inset=0, **declarations) + _within(
        "@media print", _rule("body::before", display="none")
    )


def _theme(settings: Settings) -> str:
    theme = settings["brand"]["toolbarTheme"]
    if theme == "auto":
        return ""
    said = _rule(":root", color_scheme=theme) + _root(**THEMES[theme])
    if _room(settings):
        return said
    # What is behind the pages stays as the reader has it.
    return said + _root(room=THEMES["light"]["ground"]) + _within(_DARK, _root(room=THEMES["dark"]["ground"]))


def _accent(settings: Settings) -> str:
    brand = settings["brand"]
    if brand["accentColor"] == VIEWER_BLOCKS["brand"]["accentColor"].default:  # type: ignore[index]
        return ""
    chosen = colours.parse(brand["accentColor"])

    def tokens(scheme: str) -> str:
        shown = colours.readable(chosen, _grounds(scheme))
        return _root(accent=shown, **{"accent-ink": colours.ink(shown)})

    # A button is filled with the very colour; where it stands alone, as a line or a word, it must be seen.
    fill = _rule(".button.primary", background=chosen, color=colours.ink(chosen))
    return _by_scheme(brand["toolbarTheme"], tokens) + fill + _rule(".button.primary:hover", filter="none")


def _grounds(scheme: str) -> tuple[Colour, ...]:
    return tuple(colours.parse(THEMES[scheme][name]) for name in ("surface", "raised", "ground"))


def _page(settings: Settings) -> str:
    page = settings["page"]
    tokens: dict[str, object] = {}
    if page["shadow"] in _SHADOWS:
        tokens["shadow-page"] = _SHADOWS[page["shadow"]]
    if page["rounded"]:
        tokens["page-radius"] = f"{_ROUNDED[page['rounded']]}px"
    if page["edges"]:
        tokens |= {"page-edges": _edges(1), "page-edges-left": _edges(-1)}
    return _root(**tokens) if tokens else ""


def _edges(side: int) -> str:
    """The sheets below a page, to the right (1) or to the left (-1): paper and the line where it ends, in turn."""
    colour = {0: "#cbc7be", 1: "#fbfaf8"}
    return ", ".join(f"{side * at}px {at}px 0 {colour[at % 2]}" for at in range(1, 7))


def _space(settings: Settings) -> str:
    """Room above the first page and below the last one, so that nothing in a corner covers them for good."""
    standing = corners(settings)
    above = max(_height(settings, standing[corner]) for corner in ("tl", "tr"))
    below = max(_height(settings, standing[corner]) for corner in ("bl", "br"))
    foot = _BAR if settings.get("cta", {}).get("position") == "bar" else 0
    if above == 0 and foot == 0 and below <= _BADGE:
        return ""  # what appearance.css leaves is enough
    return _space_of_column(above, below, foot) + _space_of_turned(above, below, foot)


def _space_of_column(above: int, below: int, foot: int) -> str:
    wide: dict[str, object] = {"foot": f"{foot}px", "below": f"{max(56, below + 28) + foot}px"}
    narrow: dict[str, object] = {"below": f"{_DOCK + below + 14 + foot}px"}
    if above:
        wide["above"], narrow["above"] = f"{above + 28}px", f"{above + 20}px"
    return _root(**wide) + _within(_PHONE, _root(**narrow))


def _space_of_turned(above: int, below: int, foot: int) -> str:
    """Pages that are fitted into the window stay clear of the bar, and of the corners where there is nothing beside
    them; in a low window the page needs all of it. The magazine fills the window, corners and all."""
    stack = 0 if below <= _BADGE else below + 14

    def room(over: int, under: int, foot: int) -> str:
        magazine = _rule(_MAGAZINE, **{"--above": "0px", "--below": f"{foot}px"})
        return _rule(_TURNED, **{"--above": f"{over}px", "--below": f"{under + foot}px"}) + magazine

    tablet = room(above + 28 if above else 22, stack + 14 if stack else 22, foot)
    phone = room(above + 20 if above else 12, _DOCK + max(4, stack), foot)
    usual = room(22, 22, foot) + _within(_TABLET, tablet) + _within(_PHONE, phone)
    low_phone = _root(foot=f"{foot}px") + room(12, _DOCK + 4, foot)
    return usual + _within(_LOW, _root(foot="0px") + room(22, 22, 0)) + _within(_LOW_PHONE, low_phone)


def _height(settings: Settings, pieces: list[str]) -> int:
    heights = {"logo": LOGO_HEIGHTS[settings["logo"]["size"]], "cta": _BUTTON, "badge": _BADGE}
    return sum(heights[piece] for piece in pieces) + _GAP * max(0, len(pieces) - 1)


def _button(settings: Settings) -> str:
    if "cta" not in settings:
        return ""
    cta = settings["cta"]
    if "color" not in cta:
        return _house_button(cta["style"])
    chosen = colours.parse(cta["color"])
    if cta["style"] == "solid":
        return _rule(".cta", background=chosen, color=colours.ink(chosen))

    def outline(scheme: str) -> str:
        shown = colours.readable(chosen, _grounds(scheme))
        return _rule(".cta", background=THEMES[scheme]["surface"], color=shown, border_color=shown)

    return _by_scheme(settings["brand"]["toolbarTheme"], outline)


def _house_button(style: str) -> str:
    """In the accent of the viewer, which is another for light and for dark readers."""
    if style == "solid":
        return _rule(".cta", background="var(--accent)", color="var(--accent-ink)")
    return _rule(".cta", background="var(--surface)", color="var(--accent)", border_color="var(--accent)")


def _protect(settings: Settings) -> str:
    """Soft deterrents: they stop nobody who means it, and leave screen readers, keys and forms alone."""
    protect = settings["protect"]
    said = ""
    if protect["print"]:
        hidden = _rule("main, .plain-nav", display="none !important") + _rule(".print-note", display="block")
        said += _within("@media print", hidden)
    if protect["select"]:
        said += _selectable("main", "none") + _rule(".page-text span", cursor="default")
        said += _selectable("main :is(input, textarea)", "text")  # some browsers would not let anybody type
    if protect["blurOnLeave"]:
        said += _rule(".is-elsewhere main", filter="blur(18px)")
        said += _rule(".is-elsewhere .away-note", display="block")
    return said


def _selectable(selector: str, how: str) -> str:
    return _rule(selector, user_select=how, **{"-webkit-user-select": how})


def _badge(settings: Settings) -> str:
    return _rule(".bar-mark", display="none") if settings["logo"]["hideBadge"] else ""
