"""The tables of topics, rendered from the code."""

from collections.abc import Callable, Iterable, Iterator

from docshare.cli.framework.app import build_command, is_visible_option, spell_option
from docshare.cli.framework.exits import MEANINGS
from docshare.cli.main import app
from docshare.cli.terminal.text import render_terms
from docshare.contract.amounts import format_size
from docshare.contract.plans import DAY, PLAN_LIMITS, Plan
from docshare.contract.webhooks import KINDS


def _render_exit_codes() -> Iterator[str]:
    return render_terms((str(int(code)), meaning) for code, meaning in MEANINGS.items())


def _render_global_options() -> Iterator[str]:
    options = [(*spell_option(param), param.help) for param in build_command(app).params if is_visible_option(param)]
    return render_terms((f"{', '.join(names)} {metavar}".strip(), text) for names, metavar, text in options)


def _render_plans() -> Iterator[str]:
    table = []
    for plan, limits in PLAN_LIMITS.items():
        slots = f"{limits.file_slots} files" if limits.file_slots is not None else "unlimited files"
        trash = f"trash kept {limits.trash_ms // DAY} days" if limits.trash_ms is not None else "no trash"
        table.append((plan.tier, f"{slots}, PDFs up to {format_size(limits.stored_bytes)}, {trash}"))
    return render_terms(table)


def _render_webhook_kinds() -> Iterator[str]:
    table = []
    for name, kind in KINDS.items():
        keys = ", ".join(kind.required_keys) or "no further keys"
        optional = f"; if applicable, {', '.join(kind.optional_keys)}" if kind.optional_keys else ""
        plan = f" {kind.plan.tier.title()} only." if kind.plan > Plan.FREE else ""
        fires = kind.trigger_text[0].upper() + kind.trigger_text[1:]
        table.append((name, f"{fires}. Data: {keys}{optional}.{plan}"))
    return render_terms(table)


TABLES: dict[str, Callable[[], Iterable[str]]] = {
    "exit-codes": _render_exit_codes,
    "global-options": _render_global_options,
    "plans": _render_plans,
    "webhook-kinds": _render_webhook_kinds,
}
