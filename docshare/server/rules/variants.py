"""Strict parsing of the body that creates or changes a variant. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from docshare.contract import fields
from docshare.contract.amounts import format_size
from docshare.contract.limits import RANGE_AND_WATERMARK_BYTES, VARIANT_LABEL_CHARS, VARIANTS_PER_FILE
from docshare.contract.problems import Problem
from docshare.server.rules.page_window import suggest_range

_OVERRIDES: dict[str, fields.Parser[Any]] = {
    "allowDownload": fields.parse_boolean,
    "pageRange": fields.parse_page_range,
    "readerChoice": fields.parse_boolean,
}
_parse_label_text = fields.text_parser(1, VARIANT_LABEL_CHARS)


@dataclass(frozen=True)
class VariantInput:
    """The parsed body; None leaves a value unchanged. ``label``: ``""`` clears it; ``overrides``: the whole set."""

    label: str | None = None
    overrides: dict[str, Any] | None = None
    revoked: bool | None = None


def parse_create(body: Mapping[str, Any]) -> VariantInput:
    """Parse the body of a create. Raises ``bad_request`` for the first malformed field."""
    # A new variant is never revoked: a create accepts label and overrides only.
    return VariantInput(_parse_label(body), _parse_overrides(body))


def parse_update(body: Mapping[str, Any]) -> VariantInput:
    """Parse the body of an update. Raises ``bad_request`` for the first malformed field."""
    revoked = fields.parse_boolean("revoked", body["revoked"]) if "revoked" in body else None
    return VariantInput(_parse_label(body), _parse_overrides(body), revoked)


def require_variant_fits(variant: VariantInput, *, total_pages: int, size: int, watermark: bool) -> None:
    """Raise unless the overrides fit the file: its number of pages, its ``size`` in bytes and its watermark.

    ``bad_request`` for a range beyond the last page and for downloads that cannot be stamped, ``payload_too_large``
    for a range of a file that is too large to be cut, as for the file's own settings.
    """
    overrides = variant.overrides or {}
    last = overrides.get("pageRange", {"to": 0})["to"]
    if last > total_pages:
        rule = f"within the {total_pages} pages of the document, or both 0"
        raise fields.field_problem("overrides.pageRange", rule, suggest_range(total_pages))
    if size <= RANGE_AND_WATERMARK_BYTES:
        return
    limit = format_size(RANGE_AND_WATERMARK_BYTES)
    if last:
        detail = f"A page range can be set on files up to {limit}."
        raise Problem("payload_too_large", detail, field="overrides.pageRange")
    if watermark and overrides.get("allowDownload"):
        detail = f"Downloads with a watermark can be allowed on files up to {limit}."
        raise Problem("bad_request", detail, field="overrides.allowDownload")


def require_variant_slot(variants: int) -> None:
    """Raise ``bad_request`` if a file that has ``variants`` can have no more; revoked and redacted ones count."""
    if variants >= VARIANTS_PER_FILE:
        raise Problem(
            "bad_request",
            f"The file has {VARIANTS_PER_FILE} variants, the maximum for a file.",
            hint="Delete a variant; revoked and redacted ones count too.",
        )


def require_label_writable(variant: VariantInput, *, redacted: bool) -> None:
    """Raise ``conflict`` if the label of a ``redacted`` variant is set; clearing it is allowed."""
    if redacted and variant.label:
        raise Problem(
            "conflict",
            "The label of this variant was redacted and cannot be set again.",
            hint="Create a new variant for this recipient.",
        )


def _parse_label(body: Mapping[str, Any]) -> str | None:
    if "label" not in body:
        return None
    return "" if body["label"] == "" else _parse_label_text("label", body["label"])


def _parse_overrides(body: Mapping[str, Any]) -> dict[str, Any] | None:
    if "overrides" not in body:
        return None
    sent = body["overrides"]
    if sent == []:
        return {}  # some client languages encode an empty object as an array, as for viewerSettings
    if not isinstance(sent, dict):
        raise fields.field_problem("overrides", "an object")
    unknown = sorted(sent.keys() - _OVERRIDES.keys())
    if unknown:
        # Passwords and gates are per file; an override would have no effect.
        raise Problem("bad_request", f"overrides may contain {', '.join(_OVERRIDES)}, not {unknown[0][:40]!r}.")
    return {name: parse(f"overrides.{name}", sent[name]) for name, parse in _OVERRIDES.items() if name in sent}
