"""Output of the commands that write settings."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from docshare.cli.terminal.output import Emitter, Spec
from docshare.cli.terminal.text import clean

if TYPE_CHECKING:
    from docshare.cli.framework.context import Context

MESSAGES = "said"  # key of the text for people in a printed row


def _render_row(row: Mapping[str, Any], context: "Context") -> Iterator[str]:
    name = context.out_screen.paint("id", clean(str(row["name"])))
    yield f"updated {name}: {clean(', '.join(row[MESSAGES]))}"
    if "address" in row:
        yield context.out_screen.paint("bold", clean(row["address"]))


WRITE_SPEC = Spec(fields=("uuid", "sent", "changed", "warnings", "address", "file"), id="uuid", human=_render_row)


class SettingsPrinter(Emitter):
    """Prints what was written. A pipe gets nothing: the exit code is enough."""

    def emit(self, data: Any) -> None:
        """Print one row, or with ``--json`` all of them."""
        if self.is_default_shape and not self.is_for_people:
            return
        if self.is_for_people:
            super().emit(data)
        else:
            super().emit(
                [_strip_display_keys(row) for row in data] if isinstance(data, list) else _strip_display_keys(data)
            )

    def emit_row(self, row: Any) -> None:
        """Print one row of many."""
        if self.is_for_people:
            super().emit_row(row)
        elif not self.is_default_shape:
            super().emit_row(_strip_display_keys(row))


def _strip_display_keys(row: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key not in (MESSAGES, "name")}
