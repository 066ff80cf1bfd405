"""Viewer modes and the blocks of ``viewerSettings``."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from docshare.contract import fields, kinds, limits
from docshare.contract.plans import Plan
from docshare.contract.problems import Problem

VIEWER_MODES = ("standard", "flipbook", "swipe", "magazine")
CORNERS = ("tl", "tr", "bl", "br")
PRESETS = ("dusk", "sand", "slate", "forest", "blush", "mono")


class TileGrid(NamedTuple):
    """The grids of tiles that the viewer loads over the image of a page: of any width in pixels, or at a level.

    ``side`` of a tile in pixels, ``large`` instead of it for pages that are not wider than that; ``levels`` in percent,
    where a page has 96 pixels per inch at 100; ``longest`` side of a page in pixels at the first level, to which larger
    pages are scaled down (at the other levels in proportion). A page at the last level is as wide as any may be.
    """

    side: int
    large: int
    levels: tuple[int, ...]
    longest: int


TILES = TileGrid(side=1024, large=2048, levels=(100, 200, 400, 800, 1200), longest=4_000)


class ViewerField:
    """One field: its ``kind`` (of ``contract.kinds``), the ``plan`` required for any value but ``default``, the
    allowed ``words`` or the range from ``low`` to ``high``, an older ``alias`` of its key, and whether its block
    requires it."""

    def __init__(
        self,
        kind: str,
        plan: Plan = Plan.BASIC,
        default: object = None,
        words: tuple[str, ...] = (),
        low: float = 0,
        high: float = 0,
        *,
        alias: str | None = None,
        required: bool = False,
    ) -> None:
        self.kind = kind
        self.plan = plan
        self.default = default
        self.words = words
        self.low = low
        self.high = high
        self.alias = alias
        self.required = required


def _boolean_field(plan: Plan = Plan.BASIC, *, default: bool = False) -> ViewerField:
    return ViewerField("boolean", plan, default)


def _word_field(default: str | None, *words: str, plan: Plan = Plan.BASIC, alias: str | None = None) -> ViewerField:
    return ViewerField("word", plan, default, words, alias=alias)


def _integer_field(default: int, low: int, high: int) -> ViewerField:
    return ViewerField("integer", default=default, low=low, high=high)


Block = Mapping[str, ViewerField]

VIEWER_BLOCKS: dict[str, Block | ViewerField] = {
    "background": {
        "type": _word_field("solid", "solid", "gradient", "image"),
        "color": ViewerField("color", default="#ffffff"),
        "preset": _word_field(None, *PRESETS, alias="gradient"),
        "assetId": ViewerField("asset"),
        "fit": _word_field("cover", "cover", "contain"),
        "blur": _integer_field(0, 0, 20),
        "dim": _integer_field(0, 0, 80),
    },
    "logo": {
        "assetId": ViewerField("asset"),
        "position": _word_field("br", *CORNERS),
        "size": _word_field("m", "s", "m", "l", "xl"),
        "linkUrl": ViewerField("url"),
        "hideBadge": _boolean_field(),
    },
    "page": {
        "shadow": _integer_field(1, 0, 3),
        "rounded": _integer_field(0, 0, 3),
        "edges": _boolean_field(),
        "coverAlone": _boolean_field(default=True),
    },
    "flip": {
        "speedMs": _integer_field(450, 200, 1200),
        "sound": _boolean_field(),
        "rtl": _boolean_field(),
        "layout": _word_field("adaptive", "adaptive", "single", "double"),
    },
    "swipe": {
        "autoAdvance": _boolean_field(),
        "intervalMs": _integer_field(6000, 3000, 30000),
    },
    "protect": {
        "contextMenu": _boolean_field(),
        "print": _boolean_field(),
        "select": _boolean_field(),
        "blurOnLeave": _boolean_field(Plan.PRO),
    },
    "ga4Id": ViewerField("measurement", Plan.PRO),
    "brand": {
        "accentColor": ViewerField("color", Plan.PRO, "#000000"),
        "toolbarTheme": _word_field("auto", "light", "dark", "auto", plan=Plan.PRO),
        "badgePosition": _word_field("br", *CORNERS, plan=Plan.PRO),
    },
    "cta": {
        "label": ViewerField("label", Plan.PRO, low=1, high=limits.CTA_LABEL_CHARS, required=True),
        "url": ViewerField("url", Plan.PRO, required=True),
        "style": _word_field("solid", "solid", "outline", plan=Plan.PRO),
        "color": ViewerField("color", Plan.PRO),  # default: the accent color
        "position": _word_field("br", *CORNERS, "bar", plan=Plan.PRO),
    },
    "watermarkStyle": {
        "opacity": ViewerField("number", Plan.PRO, 0.12, low=0.05, high=0.5),
        "density": _word_field("normal", "sparse", "normal", "dense", plan=Plan.PRO),
    },
}
"""Key of ``viewerSettings`` -> the fields of its block, or the field itself (``ga4Id``)."""


def normalize(value: object) -> dict[str, Any]:
    """Return the normalized ``viewerSettings`` object of a settings write: its deviations from the defaults, in table
    order.

    Unknown keys, unknown words, wrong types, and defaults are dropped; numbers are clamped. ``[]`` means ``{}``, for
    the whole object and for a block.

    Raise ``bad_request`` if ``value`` is not an object, for a malformed color, address, asset id, or measurement id,
    and for a ``cta`` without ``label`` or ``url``.
    """
    blocks = _require_object(value)
    found = {key: _parse_block(f"viewerSettings.{key}", table, blocks.get(key)) for key, table in VIEWER_BLOCKS.items()}
    return {key: value for key, value in found.items() if value is not None}


def required_plan(values: Mapping[str, Any]) -> Plan:
    """Return the lowest plan that allows ``values``, a normalized ``viewerSettings`` object."""
    plans = [Plan.FREE]
    for key, value in values.items():
        table = VIEWER_BLOCKS[key]
        plans += [table.plan] if isinstance(table, ViewerField) else [table[name].plan for name in value]
    return max(plans)


def _require_object(value: object) -> dict[str, object]:
    if value == []:
        return {}
    if not isinstance(value, dict):
        raise fields.field_problem("viewerSettings", "an object")
    return value


def _parse_block(name: str, table: Block | ViewerField, value: object) -> Any:
    """Return the deviation of ``value`` from the defaults; None: no deviation."""
    if isinstance(table, ViewerField):
        return _find_deviation(name, table, value)
    # An empty block means that the block is not set, even if it has required fields.
    if not isinstance(value, dict) or not value:
        return None
    deviations = {
        key: _find_deviation(f"{name}.{key}", row, _submitted_value(key, row, value)) for key, row in table.items()
    }
    block = {key: found for key, found in deviations.items() if found is not None}
    missing = [key for key, row in table.items() if row.required and key not in block]
    if missing:
        detail = f"{name} must have {' and '.join(missing)}."
        raise Problem("bad_request", detail, field=f"{name}.{missing[0]}")
    return block or None


def _submitted_value(key: str, row: ViewerField, block: dict[str, object]) -> object:
    return block[key] if key in block else block.get(row.alias or key)


def _find_deviation(name: str, row: ViewerField, value: object) -> object:
    found = _parse_value(name, row, value)
    # Colors are compared case-insensitively; the defaults are in lower case.
    compared = found.lower() if row.kind == "color" and isinstance(found, str) else found
    return None if compared == row.default else found


def _parse_value(name: str, row: ViewerField, value: object) -> object:
    """Return ``value`` as the field stores it; None if it is dropped."""
    match row.kind:
        case "boolean":
            return value if isinstance(value, bool) else None
        case "integer" | "number":
            return fields.clamp(value, row.low, row.high)
        case "word":
            return value if isinstance(value, str) and value in row.words else None
    return kinds.parse(row, name, value) if isinstance(value, str) else None
