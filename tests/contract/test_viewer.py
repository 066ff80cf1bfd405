"""viewerSettings: the expected table of blocks, written by hand, and normalization of an object."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docshare.contract.plans import Plan
from docshare.contract.problems import Problem
from docshare.contract.viewer import TILES, VIEWER_BLOCKS, VIEWER_MODES, ViewerField, normalize, required_plan
from tests.contract.hostile_values import json_values, list_rejection_codes, run_parser

ASSET = "6f1d3c1e-9d3b-4f0a-8f57-0a1b2c3d4e5f"
CTA = {"label": "Book a call", "url": "https://example.com/call"}

# block, field, kind, default, plan, allowed words or range
TABLE = """
background     type          word         solid     basic  solid gradient image
background     color         color        #ffffff   basic
background     preset        word         -         basic  dusk sand slate forest blush mono
background     assetId       asset        -         basic
background     fit           word         cover     basic  cover contain
background     blur          integer      0         basic  0..20
background     dim           integer      0         basic  0..80
logo           assetId       asset        -         basic
logo           position      word         br        basic  tl tr bl br
logo           size          word         m         basic  s m l xl
logo           linkUrl       url          -         basic
logo           hideBadge     boolean      False     basic
page           shadow        integer      1         basic  0..3
page           rounded       integer      0         basic  0..3
page           edges         boolean      False     basic
page           coverAlone    boolean      True      basic
flip           speedMs       integer      450       basic  200..1200
flip           sound         boolean      False     basic
flip           rtl           boolean      False     basic
flip           layout        word         adaptive  basic  adaptive single double
swipe          autoAdvance   boolean      False     basic
swipe          intervalMs    integer      6000      basic  3000..30000
protect        contextMenu   boolean      False     basic
protect        print         boolean      False     basic
protect        select        boolean      False     basic
protect        blurOnLeave   boolean      False     pro
ga4Id          -             measurement  -         pro
brand          accentColor   color        #000000   pro
brand          toolbarTheme  word         auto      pro    light dark auto
brand          badgePosition word         br        pro    tl tr bl br
cta            label         label        -         pro    1..40
cta            url           url          -         pro
cta            style         word         solid     pro    solid outline
cta            color         color        -         pro
cta            position      word         br        pro    tl tr bl br bar
watermarkStyle opacity       number       0.12      pro    0.05..0.5
watermarkStyle density       word         normal    pro    sparse normal dense
"""
ROWS = [line.split() for line in TABLE.strip().splitlines()]
KEYS = sorted({word for row in ROWS for word in row[:2]} | {"gradient"})


def format_row(block: str, key: str, row: ViewerField) -> list[str]:
    default = "-" if row.default is None else str(row.default)
    span = [f"{row.low}..{row.high}"] if row.high else []
    return [block, key, row.kind, default, row.plan.tier, *row.words, *span]


def test_viewer_blocks_are_as_expected() -> None:
    found = []
    for block, table in VIEWER_BLOCKS.items():
        rows = {"-": table} if isinstance(table, ViewerField) else table
        found += [format_row(block, key, row) for key, row in rows.items()]
    assert found == ROWS


def test_only_cta_label_and_url_are_required_and_only_preset_has_an_alias() -> None:
    fields = [
        (f"{block}.{key}", row)
        for block, table in VIEWER_BLOCKS.items()
        if not isinstance(table, ViewerField)
        for key, row in table.items()
    ]
    assert [name for name, row in fields if row.required] == ["cta.label", "cta.url"]
    assert [(name, row.alias) for name, row in fields if row.alias] == [("background.preset", "gradient")]


def test_viewer_modes_are_as_expected() -> None:
    assert VIEWER_MODES == ("standard", "flipbook", "swipe", "magazine")


def test_tiles_are_limited_to_two_levels() -> None:
    """At most 1280 tiles of a page can be requested: 16 x 16 of the first level, four times as many of the other."""
    assert TILES._asdict() == {"side": 1024, "large": 2048, "levels": (100, 200, 400, 800, 1200), "longest": 4_000}


DEFAULTS = {
    "background": {"type": "solid", "color": "#FFFFFF", "fit": "cover", "blur": 0, "dim": 0},
    "logo": {"position": "br", "size": "m", "hideBadge": False},
    "page": {"shadow": 1, "rounded": 0, "edges": False, "coverAlone": True},
    "flip": {"speedMs": 450, "sound": False, "rtl": False, "layout": "adaptive"},
    "swipe": {"autoAdvance": False, "intervalMs": 6000},
    "protect": {"contextMenu": False, "print": False, "select": False, "blurOnLeave": False},
    "brand": {"accentColor": "#000000", "toolbarTheme": "auto", "badgePosition": "br"},
    "watermarkStyle": {"opacity": 0.12, "density": "normal"},
}


@pytest.mark.parametrize(
    "value", [{}, [], DEFAULTS, {block: [] for block in DEFAULTS}, {"cta": []}, {"cta": {}}, {"unknown": {"a": 1}}]
)
def test_defaults_and_empty_blocks_normalize_to_nothing_and_require_no_plan(value: Any) -> None:
    assert (normalize(value), required_plan(normalize(value))) == ({}, Plan.FREE)


@pytest.mark.parametrize(
    ("value", "kept", "plan"),
    [
        ({"flip": {"speedMs": 50}}, {"flip": {"speedMs": 200}}, Plan.BASIC),
        ({"flip": {"speedMs": 9000}}, {"flip": {"speedMs": 1200}}, Plan.BASIC),
        ({"flip": {"speedMs": 10**400}}, {"flip": {"speedMs": 1200}}, Plan.BASIC),
        ({"flip": {"speedMs": 700.4}}, {"flip": {"speedMs": 700}}, Plan.BASIC),
        ({"swipe": {"intervalMs": 1}}, {"swipe": {"intervalMs": 3000}}, Plan.BASIC),
        ({"page": {"shadow": -1}}, {"page": {"shadow": 0}}, Plan.BASIC),
        ({"page": {"shadow": 0, "edges": 1, "rounded": True}}, {"page": {"shadow": 0}}, Plan.BASIC),
        ({"background": {"blur": 99, "dim": 99}}, {"background": {"blur": 20, "dim": 80}}, Plan.BASIC),
        ({"background": {"color": "#AbCdEf"}}, {"background": {"color": "#AbCdEf"}}, Plan.BASIC),
        (
            {"background": {"type": "gradient", "gradient": "dusk"}},
            {"background": {"type": "gradient", "preset": "dusk"}},
            Plan.BASIC,
        ),
        (
            {"background": {"type": "gradient", "preset": "sand", "gradient": "dusk"}},
            {"background": {"type": "gradient", "preset": "sand"}},
            Plan.BASIC,
        ),
        (
            {"background": {"type": "image", "assetId": ASSET.upper()}},
            {"background": {"type": "image", "assetId": ASSET}},
            Plan.BASIC,
        ),
        ({"logo": {"size": "xxl", "position": "tl"}}, {"logo": {"position": "tl"}}, Plan.BASIC),
        (
            {"logo": {"assetId": ASSET, "linkUrl": "https://example.com"}},
            {"logo": {"assetId": ASSET, "linkUrl": "https://example.com"}},
            Plan.BASIC,
        ),
        ({"protect": {"print": True}}, {"protect": {"print": True}}, Plan.BASIC),
        (
            {"protect": {"print": True, "blurOnLeave": True}},
            {"protect": {"print": True, "blurOnLeave": True}},
            Plan.PRO,
        ),
        ({"protect": {"print": True, "blurOnLeave": False}}, {"protect": {"print": True}}, Plan.BASIC),
        ({"watermarkStyle": {"opacity": 0.9}}, {"watermarkStyle": {"opacity": 0.5}}, Plan.PRO),
        ({"watermarkStyle": {"opacity": 0}}, {"watermarkStyle": {"opacity": 0.05}}, Plan.PRO),
        ({"ga4Id": "G-AB12CD34EF"}, {"ga4Id": "G-AB12CD34EF"}, Plan.PRO),
        ({"brand": {"toolbarTheme": "dark"}}, {"brand": {"toolbarTheme": "dark"}}, Plan.PRO),
        ({"cta": CTA}, {"cta": CTA}, Plan.PRO),
        ({"cta": {**CTA, "label": f" {'x' * 40} "}}, {"cta": {**CTA, "label": "x" * 40}}, Plan.PRO),
        (
            {"cta": {**CTA, "style": "solid", "position": "bar", "color": "#000000"}},
            {"cta": {**CTA, "color": "#000000", "position": "bar"}},
            Plan.PRO,
        ),
        ({"ga4Id": 5, "flip": "fast", "brand": {"accentColor": None}, "cta": None, "logo": [1]}, {}, Plan.FREE),
        ({"flip": {"speedMs": "700", "sound": "yes", "layout": ["single"]}, "page": {"shadow": None}}, {}, Plan.FREE),
        ({"flip": {"speedMs": float("nan")}, "swipe": {"intervalMs": float("inf")}}, {}, Plan.FREE),
    ],
)
def test_normalize_returns_only_valid_deviations_from_the_defaults(value: Any, kept: Any, plan: Plan) -> None:
    assert (normalize(value), required_plan(normalize(value))) == (kept, plan)


def test_deviations_are_returned_in_the_order_of_the_table() -> None:
    sent = {"cta": CTA, "flip": {"rtl": True, "speedMs": 300}, "background": {"dim": 5, "type": "image"}}
    values = normalize(sent)
    assert list(values) == ["background", "flip", "cta"]
    assert [list(block) for block in values.values()] == [["type", "dim"], ["speedMs", "rtl"], ["label", "url"]]


@pytest.mark.parametrize(
    ("value", "named"),
    [
        ({"background": {"color": "red"}}, "viewerSettings.background.color"),
        ({"background": {"color": ""}}, "viewerSettings.background.color"),
        ({"background": {"color": "#\uff11\uff12\uff13\uff14\uff15\uff16"}}, "viewerSettings.background.color"),
        ({"background": {"assetId": "7"}}, "viewerSettings.background.assetId"),
        ({"logo": {"assetId": ""}}, "viewerSettings.logo.assetId"),
        ({"logo": {"linkUrl": "http://example.com"}}, "viewerSettings.logo.linkUrl"),
        ({"logo": {"linkUrl": "javascript:alert(1)"}}, "viewerSettings.logo.linkUrl"),
        ({"brand": {"accentColor": "#12345"}}, "viewerSettings.brand.accentColor"),
        ({"ga4Id": "UA-1"}, "viewerSettings.ga4Id"),
        ({"cta": {"label": "x"}}, "url"),
        ({"cta": {"url": "https://example.com"}}, "label"),
        ({"cta": {"style": "outline"}}, "label and url"),
        ({"cta": {"unknown": 1}}, "label and url"),
        ({"cta": {**CTA, "label": 5}}, "label"),
        ({"cta": {**CTA, "label": " "}}, "viewerSettings.cta.label"),
        ({"cta": {**CTA, "label": "x" * 41}}, "viewerSettings.cta.label"),
        ({"cta": {**CTA, "label": "a\0b"}}, "viewerSettings.cta.label"),
        ({"cta": {**CTA, "url": "http://example.com"}}, "viewerSettings.cta.url"),
        ({"cta": {**CTA, "url": None}}, "url"),
        ({"cta": {**CTA, "color": "blue"}}, "viewerSettings.cta.color"),
    ],
)
def test_a_malformed_value_is_a_bad_request_that_names_the_field(value: Any, named: str) -> None:
    with pytest.raises(Problem) as caught:
        normalize(value)
    assert (caught.value.code, named in caught.value.detail) == ("bad_request", True)


@pytest.mark.parametrize("value", [None, 0, True, "", "{}", 0.5, [{}], ["flip"]])
def test_a_value_that_is_not_an_object_is_a_bad_request(value: Any) -> None:
    with pytest.raises(Problem, match="viewerSettings"):
        normalize(value)


@pytest.mark.parametrize(("block", "key"), [row[:2] for row in ROWS])
def test_hostile_values_in_a_field_raise_only_problems(block: str, key: str) -> None:
    others = CTA if block == "cta" else {}
    assert list_rejection_codes(lambda value: normalize({block: value if key == "-" else {**others, key: value}})) <= {
        "bad_request"
    }


@pytest.mark.parametrize("block", sorted({row[0] for row in ROWS}))
def test_hostile_blocks_raise_only_problems(block: str) -> None:
    assert list_rejection_codes(lambda value: normalize({block: value})) <= {"bad_request"}


WORDS = sorted({word for row in ROWS for word in row[5:]})
VALID = st.sampled_from([*WORDS, "#aBcDeF", "#ffffff", ASSET, "https://example.com", "G-AB12CD34EF", 450, 0.12, True])
BLOCKS = st.dictionaries(st.sampled_from(KEYS), VALID | st.integers() | st.floats() | json_values(KEYS), max_size=8)


@given(st.dictionaries(st.sampled_from(KEYS), BLOCKS | VALID) | json_values(KEYS))
def test_normalize_is_idempotent_or_raises_bad_request_for_any_json(value: Any) -> None:
    accepted, found = run_parser(normalize, value)
    assert normalize(found) == found if accepted else found == "bad_request"
