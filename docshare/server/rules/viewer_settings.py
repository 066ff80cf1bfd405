"""The appearance of a share page as the owner's current plan allows it. Pure."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from docshare.contract.plans import Plan
from docshare.contract.problems import Problem
from docshare.contract.viewer import VIEWER_BLOCKS, Block, ViewerField, normalize


def effective_settings(stored: Mapping[str, Any], plan: Plan) -> dict[str, Any]:
    """Return the viewer settings for a reader: every field of every block, with defaults filled in.

    Parameters: ``stored`` values that differ from the defaults; ``plan`` of the file's owner at this moment. Settings
    that the plan no longer allows return to their defaults with the next page served. ``ga4Id`` and ``cta`` are
    absent unless they are set, as are fields without a default. Stored values are validated again like those of a
    write, so only safe values reach a page, however they were stored.
    """
    stored = _drop_invalid(stored)
    resolved = {key: _resolve_block(table, stored.get(key), plan) for key, table in VIEWER_BLOCKS.items()}
    accent = resolved["brand"]["accentColor"]
    if resolved["cta"] is not None and accent != VIEWER_BLOCKS["brand"]["accentColor"].default:  # type: ignore[index]
        # A button without a color uses the accent; without an accent it uses the color of the viewer.
        resolved["cta"].setdefault("color", accent)
    return {key: found for key, found in resolved.items() if found is not None}


def list_asset_ids(settings: Mapping[str, Any]) -> frozenset[str]:
    """Return the ids of the assets that ``settings``, a normalized ``viewerSettings`` object, refers to."""
    return frozenset(
        settings[key][name]
        for key, table in VIEWER_BLOCKS.items()
        if not isinstance(table, ViewerField)
        for name, row in table.items()
        if row.kind == "asset" and name in settings.get(key, {})
    )


def _drop_invalid(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return the blocks of ``stored`` that a settings write would accept."""
    sound: dict[str, Any] = {}
    for key, block in stored.items():
        with suppress(Problem):
            sound |= normalize({key: block})
    return sound


def _resolve_block(table: Block | ViewerField, stored: Any, plan: Plan) -> Any:
    if isinstance(table, ViewerField):
        return _resolve_value(table, stored, plan)
    values = {name: _resolve_value(row, (stored or {}).get(name), plan) for name, row in table.items()}
    block = {name: value for name, value in values.items() if value is not None}
    complete = all(name in block for name, row in table.items() if row.required)
    return block if complete else None


def _resolve_value(row: ViewerField, stored: object, plan: Plan) -> object:
    return row.default if stored is None or plan < row.plan else stored
