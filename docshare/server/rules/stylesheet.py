"""The style sheet of one file: the appearance that its owner set, as CSS. Pure.

It does not contain the link, so that all links of a file can share it: images have relative addresses. A white
background and a black accent are the defaults, for which the viewer uses its own colors, light or dark.
"""

from collections.abc import Callable, Mapping
from typing import Any

from docshare.contract.viewer import CORNERS, PRESETS, VIEWER_BLOCKS
from docshare.server.rules import colors
from docshare.server.rules.colors import Color

Settings = Mapping[str, Any]

LOGO_HEIGHTS = {"s": 24, "m": 36, "l": 52, "xl": 76}
"""Pixels; as in static/viewer/appearance.css."""
_BUTTON, _BADGE, _BAR, _GAP = 42, 26, 60, 8
_PHONE, _TABLET = "@media (max-width: 760px)", "@media (max-width: 1080px)"
# A phone in landscape orientation; in static/viewer/appearance.css too. Wider screens have no dock at the bottom.
_SHORT_SCREEN, _SHORT_PHONE = "@media (max-height: 479px)", "@media (max-height: 479px) and (max-width: 760px)"
_DARK = "@media (prefers-color-scheme: dark)"
_DOCK_HEIGHT = 76  # height of the dock at the bottom of a phone

# The colors of the frame in static/design.css, for toolbars with another theme than the reader's.
THEMES = {
    "light": {
        "ground": "#f1f0ee", "surface": "#ffffff", "raised": "#ffffff", "ink": "#1a1a1d", "ink-soft": "#5f5e66",
        "line": "#e2e0dc", "line-strong": "#c9c6c0", "line-control": "#85827b", "hover": "#f2f1ee", "press": "#e8e6e2",
        "accent": "#2b55d4", "accent-ink": "#ffffff", "paper": "#ffffff", "paper-line": "#eeedea",
    },
    "dark": {
        "ground": "#131315", "surface": "#1b1b1e", "raised": "#232327", "ink": "#ededf0", "ink-soft": "#a5a4ad",
        "line": "#3d3d44", "line-strong": "#54545d", "line-control": "#7a7a84", "hover": "#28282c", "press": "#323238",
        "accent": "#8aa6ff", "accent-ink": "#10131f", "paper": "#232327", "paper-line": "#2e2e33",
    },
}  # fmt: skip

# Name -> for light and for dark readers: two soft lights in opposite corners over a gradient.
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
_CORNER_RADII = {1: 6, 2: 12, 3: 20}  # pixels
# The modes that show whole pages have their own spacing (static/viewer/modes.css).
_PAGED_MODES, _MAGAZINE = '.pages:not([data-mode="standard"])', '.pages[data-mode="magazine"]'


def render_stylesheet(settings: Settings) -> str:
    """Return the style sheet of a file with these ``settings``, every field of every block; empty if all are
    defaults."""
    parts = (
        _render_background,
        _render_theme,
        _render_accent,
        _render_page,
        _render_spacing,
        _render_cta,
        _render_protection,
        _render_badge,
    )
    return "".join(part(settings) for part in parts)


def list_corners(settings: Settings) -> dict[str, list[str]]:
    """Return the elements in each corner of the window, top first: ``logo``, ``cta`` and ``badge``, each at most
    once."""
    places = {
        "logo": settings["logo"]["position"] if "assetId" in settings["logo"] else None,
        "cta": settings["cta"]["position"] if "cta" in settings else None,
        "badge": None if settings["logo"]["hideBadge"] else settings["brand"]["badgePosition"],
    }
    return {corner: [piece for piece, place in places.items() if place == corner] for corner in CORNERS}


def _render_rule(selector: str, **declarations: object) -> str:
    body = "".join(f"{name.replace('_', '-')}:{value};" for name, value in declarations.items())
    return f"{selector}{{{body}}}\n"


def _render_tokens(**tokens: object) -> str:
    return _render_rule(":root", **{f"--{name}": value for name, value in tokens.items()})


def _wrap_rules(condition: str, rules: str) -> str:
    return f"{condition}{{\n{rules}}}\n"


def _render_by_scheme(theme: str, make: Callable[[str], str]) -> str:
    """Return the rules that ``make`` builds for the toolbar theme: ``light``, ``dark``, or both if the reader
    decides."""
    if theme != "auto":
        return make(theme)
    return make("light") + _wrap_rules(_DARK, make("dark"))


def list_schemes(settings: Settings) -> tuple[str, ...]:
    """Return the themes in which readers see the toolbar: ``light``, ``dark``, or both if each reader decides."""
    theme = resolve_toolbar_theme(settings)
    return ("light", "dark") if theme == "auto" else (theme,)


def resolve_toolbar_theme(settings: Settings) -> str:
    """Return the theme of the toolbar: ``light``, ``dark``, or ``auto`` if it is that of the reader.

    The setting ``auto`` follows a plain color that the owner chose for the background: dark if white is more readable
    on it than black. The gradients have a light and a dark variant, and what an image shows is not known.
    """
    theme: str = settings["brand"]["toolbarTheme"]
    background = settings["background"]
    is_default = background["color"] == VIEWER_BLOCKS["background"]["color"].default  # type: ignore[index]
    is_covered = background["type"] == "gradient" or (background["type"] == "image" and "assetId" in background)
    if theme != "auto" or is_default or is_covered:
        return theme
    return "dark" if colors.text_color_on(colors.parse_color(background["color"])) == colors.WHITE else "light"


def _render_background(settings: Settings) -> str:
    """Return the rules for the background behind the pages."""
    background = settings["background"]
    css = ""
    if background["color"] != VIEWER_BLOCKS["background"]["color"].default:  # type: ignore[index]
        css = _render_tokens(room=colors.parse_color(background["color"]))
    if background["type"] == "gradient":
        # A gradient without a preset uses the first one.
        light, dark = (_render_gradient(*lights) for lights in _GRADIENTS[background.get("preset", PRESETS[0])])
        css = _render_layer(background=light) + _wrap_rules(_DARK, _render_rule("body::before", background=dark))
    elif background["type"] == "image" and "assetId" in background:
        css += _render_image(background)
    # The arrows beside the pages must be visible on any background.
    return css and css + _render_rule(".side .icon", background="var(--raised)", opacity=0.9)


def _render_gradient(near: str, far: str, start: str, end: str) -> str:
    lights = f"radial-gradient(90% 80% at 12% 0%,{near},transparent),radial-gradient(90% 90% at 92% 100%,{far},"
    return f"{lights}transparent),linear-gradient(160deg,{start},{end})"


def _render_image(background: Settings) -> str:
    blur, dim = background["blur"], background["dim"]
    shade = f"linear-gradient(rgb(0 0 0 / {dim}%) 0 0)," if dim else ""
    where = f'url("assets/{background["assetId"]}") center / {background["fit"]} no-repeat'
    css = _render_layer(background=shade + where)
    if blur:
        # Extend the layer beyond the window; otherwise the blur would fade at its edges.
        css += _render_rule("body::before", inset=f"-{2 * blur}px", filter=f"blur({blur}px)")
    return css


def _render_layer(**declarations: object) -> str:
    """Return the rule for a layer of the size of the window behind everything, however long the document is."""
    return _render_rule(
        "body::before", content='""', position="fixed", z_index=-1, inset=0, **declarations
    ) + _wrap_rules("@media print", _render_rule("body::before", display="none"))


def _render_theme(settings: Settings) -> str:
    theme = resolve_toolbar_theme(settings)
    if theme == "auto":
        return ""
    css = _render_rule(":root", color_scheme=theme) + _render_tokens(**THEMES[theme])
    if _render_background(settings):
        return css
    # The background behind the pages follows the theme of the reader.
    return (
        css
        + _render_tokens(room=THEMES["light"]["ground"])
        + _wrap_rules(_DARK, _render_tokens(room=THEMES["dark"]["ground"]))
    )


def _render_accent(settings: Settings) -> str:
    brand = settings["brand"]
    if brand["accentColor"] == VIEWER_BLOCKS["brand"]["accentColor"].default:  # type: ignore[index]
        return ""
    chosen = colors.parse_color(brand["accentColor"])

    def tokens(scheme: str) -> str:
        readable = colors.make_readable(chosen, list_grounds(scheme))
        return _render_tokens(accent=readable, **{"accent-ink": colors.text_color_on(readable)})

    # A button is filled with the exact color. Lines and text in it must contrast with the background.
    fill = _render_rule(".button.primary", background=chosen, color=colors.text_color_on(chosen))
    return (
        _render_by_scheme(resolve_toolbar_theme(settings), tokens)
        + fill
        + _render_rule(".button.primary:hover", filter="none")
    )


def list_grounds(scheme: str) -> tuple[Color, ...]:
    """Return the colors behind text in the accent, in the theme ``scheme``: ``light`` or ``dark``."""
    return tuple(colors.parse_color(THEMES[scheme][name]) for name in ("surface", "raised", "ground"))


def _render_page(settings: Settings) -> str:
    page = settings["page"]
    tokens: dict[str, object] = {}
    if page["shadow"] in _SHADOWS:
        tokens["shadow-page"] = _SHADOWS[page["shadow"]]
    if page["rounded"]:
        tokens["page-radius"] = f"{_CORNER_RADII[page['rounded']]}px"
    if page["edges"]:
        tokens |= {"page-edges": _render_page_edges(1), "page-edges-left": _render_page_edges(-1)}
    return _render_tokens(**tokens) if tokens else ""


def _render_page_edges(side: int) -> str:
    """Return the shadows that look like the sheets below a page, to the right (1) or to the left (-1): paper and edge
    in turn."""
    color = {0: "#cbc7be", 1: "#fbfaf8"}
    return ", ".join(f"{side * at}px {at}px 0 {color[at % 2]}" for at in range(1, 7))


def _render_spacing(settings: Settings) -> str:
    """Return the space above the first page and below the last one, so that corner elements never cover them
    permanently."""
    corners = list_corners(settings)
    above = max(_stack_height(settings, corners[corner]) for corner in ("tl", "tr"))
    below = max(_stack_height(settings, corners[corner]) for corner in ("bl", "br"))
    foot = _BAR if settings.get("cta", {}).get("position") == "bar" else 0
    if above == 0 and foot == 0 and below <= _BADGE:
        return ""  # the default of appearance.css is enough
    return _render_scroll_spacing(above, below, foot) + _render_paged_spacing(above, below, foot)


def _render_scroll_spacing(above: int, below: int, foot: int) -> str:
    wide: dict[str, object] = {"foot": f"{foot}px", "below": f"{max(56, below + 28) + foot}px"}
    narrow: dict[str, object] = {"below": f"{_DOCK_HEIGHT + below + 14 + foot}px"}
    if above:
        wide["above"], narrow["above"] = f"{above + 28}px", f"{above + 20}px"
    return _render_tokens(**wide) + _wrap_rules(_PHONE, _render_tokens(**narrow))


def _render_paged_spacing(above: int, below: int, foot: int) -> str:
    """Return the spacing of the modes that fit pages into the window.

    Pages stay clear of the bar, and of the corners where there is no room beside them; in a low window the page needs
    the full height. The magazine fills the window including the corners.
    """
    stack = 0 if below <= _BADGE else below + 14

    def room(over: int, under: int, foot: int) -> str:
        magazine = _render_rule(_MAGAZINE, **{"--above": "0px", "--below": f"{foot}px"})
        return _render_rule(_PAGED_MODES, **{"--above": f"{over}px", "--below": f"{under + foot}px"}) + magazine

    tablet = room(above + 28 if above else 22, stack + 14 if stack else 22, foot)
    phone = room(above + 20 if above else 12, _DOCK_HEIGHT + max(4, stack), foot)
    usual = room(22, 22, foot) + _wrap_rules(_TABLET, tablet) + _wrap_rules(_PHONE, phone)
    low_phone = _render_tokens(foot=f"{foot}px") + room(12, _DOCK_HEIGHT + 4, foot)
    return (
        usual
        + _wrap_rules(_SHORT_SCREEN, _render_tokens(foot="0px") + room(22, 22, 0))
        + _wrap_rules(_SHORT_PHONE, low_phone)
    )


def _stack_height(settings: Settings, pieces: list[str]) -> int:
    heights = {"logo": LOGO_HEIGHTS[settings["logo"]["size"]], "cta": _BUTTON, "badge": _BADGE}
    return sum(heights[piece] for piece in pieces) + _GAP * max(0, len(pieces) - 1)


def _render_cta(settings: Settings) -> str:
    if "cta" not in settings:
        return ""
    cta = settings["cta"]
    if "color" not in cta:
        return _render_default_cta(cta["style"])
    chosen = colors.parse_color(cta["color"])
    if cta["style"] == "solid":
        return _render_rule(".cta", background=chosen, color=colors.text_color_on(chosen))

    def outline(scheme: str) -> str:
        readable = colors.make_readable(chosen, list_grounds(scheme))
        return _render_rule(".cta", background=THEMES[scheme]["surface"], color=readable, border_color=readable)

    return _render_by_scheme(resolve_toolbar_theme(settings), outline)


def _render_default_cta(style: str) -> str:
    """Return the rule for a button in the accent of the viewer, which differs for light and for dark readers."""
    if style == "solid":
        return _render_rule(".cta", background="var(--accent)", color="var(--accent-ink)")
    return _render_rule(".cta", background="var(--surface)", color="var(--accent)", border_color="var(--accent)")


def _render_protection(settings: Settings) -> str:
    """Return rules that discourage copying. They do not affect screen readers, keys and forms, and can be bypassed."""
    protect = settings["protect"]
    css = ""
    if protect["print"]:
        hidden = _render_rule("main, .plain-nav, .print-missing", display="none !important") + _render_rule(
            ".print-note", display="block"
        )
        css += _wrap_rules("@media print", hidden)
    if protect["select"]:
        css += _render_user_select("main", "none") + _render_rule(".page-text span", cursor="default")
        css += _render_user_select("main :is(input, textarea)", "text")  # some browsers need it to accept input
    if protect["blurOnLeave"]:
        css += _render_rule(".is-elsewhere main", filter="blur(18px)")
        css += _render_rule(".is-elsewhere .away-note", display="block")
    return css


def _render_user_select(selector: str, how: str) -> str:
    return _render_rule(selector, user_select=how, **{"-webkit-user-select": how})


def _render_badge(settings: Settings) -> str:
    return _render_rule(".bar-mark", display="none") if settings["logo"]["hideBadge"] else ""
