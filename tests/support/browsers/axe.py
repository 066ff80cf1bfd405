"""Check the accessibility of a page with axe-core, a copy of which is in ``tests/browser``, under its own license."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from playwright.sync_api import Frame, Page

_SOURCE = (Path(__file__).parents[2] / "browser" / "vendor" / "axe.min.js").read_text(encoding="utf-8")
# An element that fades in has a low contrast for a moment.
_WAIT_FOR_REST = """async () => {
  const moving = document.getAnimations().filter((one) => one.effect.getComputedTiming().endTime < Infinity);
  await Promise.allSettled(moving.map((one) => one.finished));
}"""
_RUN = """async ([also, only]) => {
  const rules = Object.fromEntries(also.map((name) => [name, { enabled: true }]));
  const runOnly = only.length ? { type: "rule", values: only } : undefined;
  return (await axe.run(document, { resultTypes: ["violations"], rules, runOnly })).violations;
}"""


def find_violations(page: Page | Frame, *also: str, only: Sequence[str] = ()) -> list[str]:
    """Return all violations on the idle ``page``: one line per rule, with the elements.

    Parameters: ``also`` rules that axe-core leaves out unless they are named, ``only`` the rules to check.
    """
    page.wait_for_load_state("domcontentloaded")  # a click returns when the next page begins to arrive
    page.evaluate(_WAIT_FOR_REST)
    if not page.evaluate("'axe' in window"):
        page.evaluate(f"() => {{ {_SOURCE} }}")
    found: list[dict[str, Any]] = page.evaluate(_RUN, [list(also), list(only)])
    return [_format_violation(rule) for rule in found]


def _format_violation(rule: dict[str, Any]) -> str:
    places = "; ".join(f"{node['target']} {node['html'][:120]}" for node in rule["nodes"][:5])
    return f"{rule['id']}: {rule['help']}: {places}"
