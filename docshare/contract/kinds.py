"""The kinds of settings that the rows of ``settings`` and ``viewer`` declare, and the strict parser of each."""

from typing import Any, Protocol

from docshare.contract import fields


class KindRow(Protocol):
    """A row that declares a value: its ``kind``, and the allowed ``words`` or the range from ``low`` to ``high``."""

    @property
    def kind(self) -> str: ...
    @property
    def words(self) -> tuple[str, ...]: ...
    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...


def parse(row: KindRow, name: str, value: object) -> Any:
    """Return the value to store in the setting ``name``; raise ``bad_request`` if ``row`` does not allow it."""
    match row.kind:
        case "word":
            return fields.word_parser(*row.words)(name, value)
        case "integer":
            return fields.integer_parser(int(row.low), int(row.high))(name, value)
        case "number":
            return fields.parse_number(name, value, row.low, row.high)
        case "label":
            return fields.text_parser(int(row.low), int(row.high))(name, value)
    return _PARSERS[row.kind](name, value)


_PARSERS: dict[str, fields.Parser[Any]] = {
    "asset": fields.parse_asset_id,
    "boolean": fields.parse_boolean,
    "color": fields.parse_color,
    "datetime": fields.parse_instant,
    "domains": fields.parse_domains,
    "form": fields.parse_gate_fields,
    "measurement": fields.parse_measurement_id,
    "pages": fields.parse_page_range,
    "password": fields.parse_password,
    "slug": fields.parse_slug,
    "url": fields.parse_https_url,
}
