"""Check the accessibility of a page with axe-core, a copy of which is in ``tests/browser``, under its own license."""

from pathlib import Path
from typing import Any

from playwright.sync_api import Frame, Page

_SOURCE = (Path(__file__).parents[1] / "browser" / "vendor" / "axe.min.js").read_text(encoding="utf-8")
# An element that fades in has a low contrast for a moment.
_WAIT_FOR_REST = """async () => {
  const moving = document.getAnimations().filter((one) => one.effect.getComputedTiming().endTime < Infinity);
  await Promise.allSettled(moving.map((one) => one.finished));
}"""
_RUN = "async () => (await axe.run(document, { resultTypes: ['violations'] })).violations"


def find_violations(page: Page | Frame) -> list[str]:
    """Return all violations on the idle ``page``: one line per rule, with the elements."""
    return [_format_violation(rule) for rule in _run(page)]


def _run(page: Page | Frame) -> list[dict[str, Any]]:
    page.evaluate(_WAIT_FOR_REST)
    page.evaluate(f"() => {{ {_SOURCE} }}")
    found: list[dict[str, Any]] = page.evaluate(_RUN)
    return found


def _format_violation(rule: dict[str, Any]) -> str:
    places = "; ".join(f"{node['target']} {node['html'][:120]}" for node in rule["nodes"][:5])
    return f"{rule['id']}: {rule['help']}: {places}"
