"""Output of the links that ``variants create`` and ``upload --variants-csv`` create."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from docshare.cli.commands.settings.overrides import describe_overrides
from docshare.cli.terminal.output import Column, Spec, resolve_format
from docshare.cli.terminal.text import clean

if TYPE_CHECKING:
    from docshare.cli.framework.context import Context

_VARIANT_KEYS = ("uuid", "shortId", "url", "label", "overrides", "revoked", "redacted", "createdAt", "downloadWarning")
_ALL_KEYS = ("row", "label", "url", "shortId", "uuid", "status")


def _render_row(row: Mapping[str, Any], context: "Context") -> Iterator[str]:
    screen = context.out_screen
    yield screen.paint_link(str(row["url"]))
    if not context.options.quiet:
        facts = (str(row.get("label", "")), describe_overrides(row.get("overrides")), str(row.get("shortId", "")))
        yield screen.paint("dim", f" {screen.glyph('·')} ".join(clean(fact) for fact in facts if fact))


LINKS = Spec(
    table=(
        Column("label", "LABEL", role="bold", flexible=True),
        Column("url", "LINK", role="id", link="url"),
        Column("status", "STATUS", rank=1),
    ),
    plain=("label", "url"),
    fields=("row", "status", *_VARIANT_KEYS, "recovered", "qr", "error"),
    id="shortId",
    human=_render_row,
    once=("url",),
)


def build_links_spec(context: "Context") -> Spec:
    """Return ``LINKS`` for the format in effect; ``-q`` prints only the link."""
    if resolve_format(context) in ("csv", "tsv"):
        return LINKS._replace(plain=_ALL_KEYS)
    return LINKS._replace(plain=("url",)) if context.options.quiet else LINKS
