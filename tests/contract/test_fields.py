"""The field parsers: accepted values, and rejection of any other as a ``bad_request`` that names the field."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docshare.contract import fields
from docshare.contract.problems import Problem
from tests.contract.hostile_values import HOSTILE_VALUES, json_values, list_rejection_codes, run_parser

UUID = "6f1d3c1e-9d3b-4f0a-8f57-0a1b2c3d4e5f"
ROUTE_WORDS = (
    "api", "oauth", "embed", "static", "account", "readership", "login", "logout", "oembed", "healthz", "problems",
    "files", "trash", "webhooks", "dashboard", "device", "docs", "notices", "metrics",
)  # fmt: skip
EMAIL = {"key": "mail", "label": "Mail", "type": "email", "required": True}

PARSERS: dict[str, fields.Parser[Any]] = {
    "boolean": fields.parse_boolean,
    "integer": fields.integer_parser(0, 1_000_000),
    "text": fields.text_parser(1, 200),
    "word": fields.word_parser("a", "b"),
    "instant": fields.parse_instant,
    "color": fields.parse_color,
    "measurement": fields.parse_measurement_id,
    "https_url": fields.parse_https_url,
    "web_url": fields.parse_web_url,
    "slug": fields.parse_slug,
    "password": fields.parse_password,
    "uuid": fields.parse_uuid,
    "page_range": fields.parse_page_range,
    "domains": fields.parse_domains,
    "gate_form": fields.parse_gate_fields,
}

ACCEPTED: list[tuple[str, Any, Any]] = [
    ("boolean", True, True),
    ("boolean", False, False),
    ("integer", 0, 0),
    ("integer", 1_000_000, 1_000_000),
    ("text", "x", "x"),
    ("text", "  Ann\u00e9e 2024 \n", "Ann\u00e9e 2024"),
    ("text", "\U0001f600" * 200, "\U0001f600" * 200),
    ("word", "b", "b"),
    ("instant", "2030-01-31T18:00:00+01:00", 1_896_109_200_000),
    ("color", "#aBcD09", "#aBcD09"),
    ("measurement", "G-AB12CD34EF", "G-AB12CD34EF"),
    ("https_url", "https://example.com", "https://example.com"),
    ("https_url", "HTTPS://Example.com:8443/a/@b?c=%20{d}#e", "HTTPS://Example.com:8443/a/@b?c=%20{d}#e"),
    ("https_url", "https://example.com?x", "https://example.com?x"),
    ("https_url", "https://[2001:db8::1]:443/", "https://[2001:db8::1]:443/"),
    ("https_url", "https://example.com/".ljust(2048, "a"), "https://example.com/".ljust(2048, "a")),
    ("web_url", "https://example.com:8443/a", "https://example.com:8443/a"),
    ("web_url", "http://example.com:8080/a", "http://example.com:8080/a"),
    ("web_url", "http://example.com/".ljust(2048, "a"), "http://example.com/".ljust(2048, "a")),
    ("slug", "", ""),
    ("slug", "q3-2024", "q3-2024"),
    ("slug", "a" * 64, "a" * 64),
    ("slug", "apis", "apis"),
    ("password", "", ""),
    ("password", " p\u00e4ss ", " p\u00e4ss "),
    ("password", "\u00e9" * 64, "\u00e9" * 64),
    ("uuid", UUID, UUID),
    ("uuid", UUID.upper(), UUID),
    ("page_range", {"from": 0, "to": 0}, {"from": 0, "to": 0}),
    ("page_range", {"from": 1, "to": 1}, {"from": 1, "to": 1}),
    ("page_range", {"from": 2, "to": 9, "x": 1}, {"from": 2, "to": 9}),
    ("domains", [], []),
    ("domains", ["Example.COM", "a.example", "example.com"], ["example.com", "a.example"]),
    ("domains", ["xn--bcher-kva.example"], ["xn--bcher-kva.example"]),
    ("domains", [".".join(["a" * 61] * 4) + ".examp"], [".".join(["a" * 61] * 4) + ".examp"]),
    ("gate_form", None, []),
    ("gate_form", [], []),
    ("gate_form", [EMAIL], [EMAIL]),
    ("gate_form", [{**EMAIL, "label": " Mail ", "required": False, "x": 1}], [EMAIL]),
    (
        "gate_form",
        [{"key": "mail", "label": "Mail", "type": "email"}, {"key": "n_1", "label": "N" * 60, "type": "text"}],
        [EMAIL, {"key": "n_1", "label": "N" * 60, "type": "text", "required": False}],
    ),
]

REJECTED: list[tuple[str, Any]] = [
    ("boolean", 0),
    ("boolean", 1),
    ("boolean", "true"),
    ("integer", -1),
    ("integer", 1_000_001),
    ("integer", True),
    ("integer", 5.0),
    ("integer", "5"),
    ("text", " "),
    ("text", "x" * 201),
    ("text", "a\rb"),
    ("text", "a\x85b"),
    ("word", "c"),
    ("word", "A"),
    ("instant", "2030-01-31"),
    ("instant", "2030-01-31T18:00:00"),
    ("instant", 1_896_109_200_000),
    ("color", "#abc"),
    ("color", "abcdef"),
    ("color", "#abcdeg"),
    ("color", "#abcdef\n"),
    ("measurement", "G-AB12CD34E"),
    ("measurement", "g-AB12CD34EF"),
    ("measurement", "UA-12345678-1"),
    ("https_url", "http://example.com"),
    ("https_url", "javascript:alert(1)"),
    ("https_url", "//example.com"),
    ("https_url", "https://"),
    ("https_url", "https:///x"),
    ("https_url", "https://user@example.com/"),
    ("https_url", "https://@example.com/"),
    ("https_url", "https://user:pw@example.com/"),
    ("https_url", "https://127.0.0.1\\@a.example/"),
    ("https_url", "https://example.com/a b"),
    ("https_url", "https://example.com/\t"),
    ("https_url", "https://example.com/\n"),
    ("https_url", 'https://example.com/"'),
    ("https_url", "https://example.com/<b>"),
    ("https_url", "https://example.com/\u00e9"),
    ("https_url", "https://b\u00fccher.example/"),
    ("https_url", "https://\u2460.example/"),
    ("https_url", "https://example.com:0/"),
    ("https_url", "https://example.com:65536/"),
    ("https_url", "https://example.com:\uff14\uff14\uff13/"),
    ("https_url", "https://example.com/".ljust(2049, "a")),
    ("web_url", "ftp://example.com/"),
    ("web_url", "httpx://example.com/"),
    ("web_url", "//example.com"),
    ("web_url", "http://user@example.com/"),
    ("web_url", "http://127.0.0.1\\@a.example/"),
    ("web_url", "http://example.com:0/"),
    ("web_url", "http://example.com/".ljust(2049, "a")),
    ("slug", "Q3"),
    ("slug", "a_b"),
    ("slug", "a" * 65),
    ("slug", "q3\n"),
    ("slug", UUID),
    *[("slug", word) for word in ROUTE_WORDS],
    ("slug", ".well-known"),
    ("password", "x" * 129),
    ("password", "\u00e9" * 65),
    *[("password", f"a{mark}b") for mark in "\r\n\t\0\ud800"],
    ("uuid", UUID[:-1]),
    ("uuid", UUID.replace("-", "")),
    ("uuid", "{" + UUID + "}"),
    ("uuid", UUID + "\n"),
    ("page_range", {}),
    ("page_range", {"from": 1}),
    ("page_range", {"from": 0, "to": 1}),
    ("page_range", {"from": 2, "to": 1}),
    ("page_range", {"from": -1, "to": 1}),
    ("page_range", {"from": False, "to": False}),
    ("page_range", {"from": 0.0, "to": 0.0}),
    ("page_range", {"from": 1, "to": 50_001}),
    ("page_range", [1, 2]),
    ("domains", None),
    ("domains", "example.com"),
    ("domains", ["localhost"]),
    ("domains", ["@example.com"]),
    ("domains", ["user@example.com"]),
    ("domains", ["example.com."]),
    ("domains", [" example.com"]),
    ("domains", ["-a.example"]),
    ("domains", ["a..example"]),
    ("domains", ["a" * 64 + ".example"]),
    ("domains", [".".join(["a" * 61] * 4) + ".exampl"]),
    ("domains", ["b\u00fccher.example"]),
    ("domains", ["\u212a.example"]),
    ("domains", ["example.com", 5]),
    ("domains", [f"d{number}.example" for number in range(21)]),
    ("gate_form", {}),
    ("gate_form", [EMAIL, "x"]),
    ("gate_form", [{**EMAIL, "key": "Mail"}]),
    ("gate_form", [{**EMAIL, "key": "m" * 41}]),
    ("gate_form", [{**EMAIL, "key": "1m"}]),
    ("gate_form", [{**EMAIL, "key": "mail\n"}]),
    ("gate_form", [{**EMAIL, "label": " "}]),
    ("gate_form", [{**EMAIL, "label": "x" * 61}]),
    ("gate_form", [{**EMAIL, "type": "number"}]),
    ("gate_form", [{**EMAIL, "type": ["email"]}]),
    ("gate_form", [{**EMAIL, "required": 1}]),
    ("gate_form", [{**EMAIL, "required": None}]),
    ("gate_form", [{"label": "Mail", "type": "email"}]),
    ("gate_form", [{**EMAIL, "type": "text"}]),
    ("gate_form", [EMAIL, {**EMAIL, "key": "other"}]),
    ("gate_form", [EMAIL, {**EMAIL, "type": "text"}]),
    ("gate_form", [EMAIL] + [{"key": f"k{n}", "label": "x", "type": "text"} for n in range(5)]),
]


def short_repr(value: object) -> str:
    return ascii(value)[:40]


@pytest.mark.parametrize(("parser", "value", "kept"), ACCEPTED, ids=short_repr)
def test_a_parser_accepts_valid_values(parser: str, value: Any, kept: Any) -> None:
    found = PARSERS[parser]("field", value)
    assert found == kept
    assert type(found) is type(kept)


@pytest.mark.parametrize(("parser", "value"), REJECTED, ids=short_repr)
def test_a_parser_rejects_invalid_values_and_names_the_field(parser: str, value: Any) -> None:
    with pytest.raises(Problem) as caught:
        PARSERS[parser]("field", value)
    assert caught.value.code == "bad_request"
    assert caught.value.detail.startswith("field")
    assert len(caught.value.detail) < 200


@pytest.mark.parametrize("parser", PARSERS)
def test_hostile_values_raise_only_problems(parser: str) -> None:
    assert list_rejection_codes(lambda value: PARSERS[parser]("field", value)) == {"bad_request"}


@given(st.sampled_from(sorted(PARSERS)), json_values(["from", "to", "key", "label", "type", "required"]))
def test_any_json_value_raises_only_problems(parser: str, value: Any) -> None:
    accepted, found = run_parser(PARSERS[parser], "field", value)
    assert accepted or found == "bad_request"


@pytest.mark.parametrize(
    ("value", "low", "high", "nearest"),
    [
        (5, 0, 20, 5),
        (-5, 0, 20, 0),
        (10**400, 0, 20, 20),
        (-(10**400), 0, 20, 0),
        (4.6, 0, 20, 5),
        (19.9, 0, 20, 20),
        (0.9, 0.05, 0.5, 0.5),
        (0, 0.05, 0.5, 0.05),
        (0.3, 0.05, 0.5, 0.3),
        (10**400, 0.05, 0.5, 0.5),
        (True, 0, 20, None),
        ("5", 0, 20, None),
        (None, 0, 20, None),
        (float("nan"), 0, 20, None),
        (float("inf"), 0, 20, None),
        ([], 0, 20, None),
    ],
    ids=short_repr,
)
def test_clamp_returns_the_nearest_number_in_range(value: Any, low: float, high: float, nearest: float | None) -> None:
    found = fields.clamp(value, low, high)
    assert found == nearest
    assert type(found) is type(nearest)


@pytest.mark.parametrize(("value", "known"), [("aB3dE5fG7hJ9", True), ("aB3dE5fG7hJ", False), ("aB3dE5fG7h-9", False)])
def test_is_short_id_checks_the_format(value: str, known: bool) -> None:
    assert fields.is_short_id(value) is known


def test_hostile_values_are_not_ids() -> None:
    assert not any(fields.is_uuid(value) or fields.is_short_id(value) for value in HOSTILE_VALUES)
