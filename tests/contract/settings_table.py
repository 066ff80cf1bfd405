"""Expected behavior of every setting, written by hand: a valid value, how the File shows it, the reset value, invalid
values.

The tests of the contract compare it with the tables in the code, those of the API drive every row through HTTP.
"""

from typing import Any, NamedTuple

ABSENT = object()
"""The key is absent from the File."""

ASSET = "6f1d3c1e-9d3b-4f0a-8f57-0a1b2c3d4e5f"
"""The image asset that every test file has."""

FORM = [
    {"key": "mail", "label": "Email", "type": "email", "required": True},
    {"key": "firm", "label": "Company", "type": "company", "required": False},
]
CTA = {"label": "Book a call", "url": "https://example.com/call"}


class SettingCase(NamedTuple):
    """``value`` is accepted if the owner's plan is ``plan`` or higher, and the File then has ``expected``;
    ``reset_value`` is accepted on every plan and results in ``expected_after_reset``; each of ``invalid_values`` is a
    bad request on every plan."""

    name: str
    plan: str
    value: Any
    expected: dict[str, Any]
    reset_value: Any
    expected_after_reset: dict[str, Any]
    invalid_values: tuple[Any, ...]


def _make_switch_case(name: str, plan: str) -> SettingCase:
    return SettingCase(name, plan, True, {name: True}, False, {name: False}, (0, 1, "true", None, [], {}))


CASES: tuple[SettingCase, ...] = (
    SettingCase("viewerMode", "free", "flipbook", {"viewerMode": "flipbook"}, "standard", {"viewerMode": "standard"},
         ("book", "Flipbook", "", None, 1, [], {})),
    SettingCase("password", "basic", "s3cret", {"protected": True}, "", {"protected": False},
         (None, 1, False, [], {}, "a\nb", "a\tb", "a\rb", "x" * 129, "ß" * 65)),
    SettingCase("allowDownload", "free", False, {"allowDownload": False}, True, {"allowDownload": True}, (0, "no",
        None)),
    SettingCase("showExpiry", "free", False, {"showExpiry": False}, True, {"showExpiry": True}, (0, "no", None)),
    SettingCase("readerChoice", "free", False, {"readerChoice": False}, None, {"readerChoice": True}, (0, "no", [])),
    SettingCase("showSender", "free", False, {"showSender": False}, True, {"showSender": True}, (0, "no", None)),
    _make_switch_case("requireEmail", "pro"),
    _make_switch_case("notifyOnView", "basic"),
    SettingCase("deleteAt", "free", "2031-05-06T09:08:09.5+02:00", {"deleteAt": "2031-05-06T07:08:09.500Z"},
         "2032-01-01T00:00:00Z", {"deleteAt": "2032-01-01T00:00:00.000Z"},
         ("", None, 0, 1_900_000_000, "tomorrow", "2031-02-30T00:00:00Z", "2031-05-06", "2031-05-06T07:08:09", [], {})),
    SettingCase("neverExpire", "free", True, {"deleteAt": ABSENT}, False, {"deleteAt": ABSENT}, (0, 1, "true", None)),
    SettingCase("viewLimit", "basic", 10, {"viewLimit": 10}, 0, {"viewLimit": ABSENT},
         (-1, 1_000_001, 2.0, "3", None, True, False, [], {})),
    SettingCase("pageRange", "pro", {"from": 2, "to": 3}, {"pageRange": {"from": 2, "to": 3}}, {"from": 0, "to": 0},
         {"pageRange": ABSENT},
         (None, [], {}, {"from": 1}, {"to": 2}, {"from": 0, "to": 1}, {"from": 2, "to": 1}, {"from": -1, "to": 1},
          {"from": 1.0, "to": 2}, {"from": "1", "to": "2"}, {"from": False, "to": False}, {"from": None, "to": None})),
    SettingCase("gateFields", "pro", FORM, {"gateFields": FORM, "requireEmail": True}, None, {"gateFields": ABSENT},
         ({}, "x", 0, False, [None], [{}], FORM * 3, [FORM[0], FORM[0]], [FORM[1]],
          [{**FORM[0], "key": "Mail"}], [{**FORM[0], "key": "a" * 41}], [{**FORM[0], "label": " "}],
          [{**FORM[0], "label": "x" * 61}], [{**FORM[0], "type": "date"}], [{**FORM[0], "required": 1}])),
    SettingCase("gateDomains", "pro", ["Example.com", "b.example"], {"gateDomains": ["example.com", "b.example"]}, [],
         {"gateDomains": ABSENT},
         (None, "example.com", {}, [""], ["com"], ["a b.example"], ["@a.example"], ["*.a.example"], [1],
          [f"a{number}.example" for number in range(21)], ["a" * 250 + ".com"])),
    _make_switch_case("askReceipt", "basic"),
    _make_switch_case("commentsEnabled", "pro"),
    _make_switch_case("commentsAllowPublic", "pro"),
    _make_switch_case("notifyOnComment", "pro"),
    _make_switch_case("marksEnabled", "pro"),
    _make_switch_case("annotationsEnabled", "pro"),
    _make_switch_case("watermark", "pro"),
    SettingCase("slug", "pro", "q3-report", {"slug": "q3-report"}, "", {"slug": ABSENT},
         (None, 1, [], {}, "Q3", "a b", "a_b", "ä", "a/b", "a.b", "x" * 65, "a\n", "api", "embed", "static", "oauth",
          "account", "readership", "login", "logout", "oembed", "healthz", "problems",
          "6f1d3c1e-9d3b-4f0a-8f57-0a1b2c3d4e5f")),
    SettingCase("viewerSettings", "basic", {"flip": {"rtl": True}}, {"viewerSettings": {"flip": {"rtl": True}}}, {},
         {"viewerSettings": {}},
         (None, "x", 1, True, [1], {"background": {"color": "#12345"}}, {"background": {"color": "red"}},
          {"background": {"assetId": "x"}}, {"logo": {"assetId": "../x"}}, {"logo": {"linkUrl": "http://a.example"}},
          {"logo": {"linkUrl": "javascript:alert(1)"}}, {"ga4Id": "UA-1"}, {"brand": {"accentColor": "#GGGGGG"}},
          {"cta": {"label": "Go"}}, {"cta": {"url": "https://a.example"}}, {"cta": {**CTA, "url": "http://a.example"}},
          {"cta": {**CTA, "label": "x" * 41}}, {"cta": {**CTA, "label": " "}}, {"cta": {**CTA, "color": "blue"}})),
    SettingCase("detachDesignToolDesign", "free", True, {"detachDesignToolDesign": ABSENT}, False,
         {"detachDesignToolDesign": ABSENT}, (0, 1, "true", None)),
    _make_switch_case("designToolUpdatesEnabled", "free"),
)  # fmt: skip
"""One row per setting, in the order of the File object."""


class LookCase(NamedTuple):
    """``deviation`` is a value of ``viewerSettings`` that requires ``plan``, ``plain`` the same block at its defaults,
    and ``filled`` the whole block as a share page on Pro receives it."""

    field: str
    plan: str
    deviation: dict[str, Any]
    plain: dict[str, Any]
    filled: dict[str, Any]


_BACKGROUND = {"type": "solid", "color": "#ffffff", "fit": "cover", "blur": 0, "dim": 0}
_LOGO = {"position": "br", "size": "m", "hideBadge": False}
_PAGE = {"shadow": 1, "rounded": 0, "edges": False, "coverAlone": True}
_FLIP = {"speedMs": 450, "sound": False, "rtl": False, "layout": "adaptive"}
_SWIPE = {"autoAdvance": False, "intervalMs": 6000}
_PROTECT = {"contextMenu": False, "print": False, "select": False, "blurOnLeave": False}
_BRAND = {"accentColor": "#000000", "toolbarTheme": "auto", "badgePosition": "br"}
_CTA = {**CTA, "style": "solid", "position": "br"}
_WATERMARK = {"opacity": 0.12, "density": "normal"}

DEFAULT_LOOKS: dict[str, Any] = {
    "background": _BACKGROUND,
    "logo": _LOGO,
    "page": _PAGE,
    "flip": _FLIP,
    "swipe": _SWIPE,
    "protect": _PROTECT,
    "brand": _BRAND,
    "watermarkStyle": _WATERMARK,
}
"""The viewer settings of a reader if the owner set none, or none that the plan allows."""


def _make_look_case(plan: str, block: str, key: str, value: Any) -> LookCase:
    default = DEFAULT_LOOKS[block]
    plain = {key: default[key]} if key in default else {}
    return LookCase(f"{block}.{key}", plan, {block: {key: value}}, {block: plain}, {**default, key: value})


LOOKS: tuple[LookCase, ...] = (
    _make_look_case("basic", "background", "type", "gradient"),
    _make_look_case("basic", "background", "color", "#1a2B3c"),
    _make_look_case("basic", "background", "preset", "dusk"),
    _make_look_case("basic", "background", "assetId", ASSET),
    _make_look_case("basic", "background", "fit", "contain"),
    _make_look_case("basic", "background", "blur", 20),
    _make_look_case("basic", "background", "dim", 80),
    _make_look_case("basic", "logo", "assetId", ASSET),
    _make_look_case("basic", "logo", "position", "tl"),
    _make_look_case("basic", "logo", "size", "xl"),
    _make_look_case("basic", "logo", "linkUrl", "https://example.com/"),
    _make_look_case("basic", "logo", "hideBadge", True),
    _make_look_case("basic", "page", "shadow", 0),
    _make_look_case("basic", "page", "rounded", 3),
    _make_look_case("basic", "page", "edges", True),
    _make_look_case("basic", "page", "coverAlone", False),
    _make_look_case("basic", "flip", "speedMs", 1200),
    _make_look_case("basic", "flip", "sound", True),
    _make_look_case("basic", "flip", "rtl", True),
    _make_look_case("basic", "flip", "layout", "double"),
    _make_look_case("basic", "swipe", "autoAdvance", True),
    _make_look_case("basic", "swipe", "intervalMs", 3000),
    _make_look_case("basic", "protect", "contextMenu", True),
    _make_look_case("basic", "protect", "print", True),
    _make_look_case("basic", "protect", "select", True),
    _make_look_case("pro", "protect", "blurOnLeave", True),
    LookCase("ga4Id", "pro", {"ga4Id": "G-AB12CD34EF"}, {}, {}),
    _make_look_case("pro", "brand", "accentColor", "#ff0080"),
    _make_look_case("pro", "brand", "toolbarTheme", "dark"),
    _make_look_case("pro", "brand", "badgePosition", "tr"),
    LookCase("cta.label", "pro", {"cta": CTA}, {"cta": {}}, _CTA),
    LookCase("cta.url", "pro", {"cta": CTA}, {"cta": []}, _CTA),
    LookCase("cta.style", "pro", {"cta": {**CTA, "style": "outline"}}, {"cta": {}}, {**_CTA, "style": "outline"}),
    LookCase("cta.color", "pro", {"cta": {**CTA, "color": "#00FF00"}}, {"cta": {}}, {**_CTA, "color": "#00FF00"}),
    LookCase("cta.position", "pro", {"cta": {**CTA, "position": "bar"}}, {"cta": {}}, {**_CTA, "position": "bar"}),
    _make_look_case("pro", "watermarkStyle", "opacity", 0.5),
    _make_look_case("pro", "watermarkStyle", "density", "sparse"),
)
"""One row per field of ``viewerSettings``, in the order of the object."""

PLANS = ("free", "basic", "pro")


def is_allowed(plan: str, needed: str) -> bool:
    """Return whether ``plan`` is ``needed`` or higher."""
    return PLANS.index(plan) >= PLANS.index(needed)
