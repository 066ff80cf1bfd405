"""The accessibility tree of a page, as browsers pass it to screen readers."""

from dataclasses import dataclass
from typing import Any

from playwright.sync_api import Page

_LANDMARKS = ("banner", "complementary", "contentinfo", "form", "main", "navigation", "region", "search")


@dataclass(frozen=True)
class AccessibleNode:
    """One node: ``level`` of a heading, 0 for all others; ``live`` politeness of its changes, "" without."""

    role: str
    name: str
    level: int = 0
    live: str = ""


def read_tree(page: Page) -> list[AccessibleNode]:
    """Return the nodes of ``page`` that are not ignored, in the order of reading."""
    session = page.context.new_cdp_session(page)
    try:
        nodes = {node["nodeId"]: node for node in session.send("Accessibility.getFullAXTree")["nodes"]}
    finally:
        session.detach()
    found: list[AccessibleNode] = []
    waiting = [next(iter(nodes))]
    while waiting:
        node = nodes[waiting.pop()]
        waiting += reversed([key for key in node.get("childIds", ()) if key in nodes])
        if not node["ignored"]:
            found.append(_build_node(node))
    return found


def _build_node(node: dict[str, Any]) -> AccessibleNode:
    properties = {each["name"]: each["value"].get("value") for each in node.get("properties", ())}
    return AccessibleNode(
        node["role"]["value"],
        node.get("name", {}).get("value", ""),
        properties.get("level", 0) if node["role"]["value"] == "heading" else 0,
        properties.get("live", ""),
    )


def list_headings(tree: list[AccessibleNode]) -> list[tuple[int, str]]:
    """Return level and text of the headings."""
    return [(node.level, node.name) for node in tree if node.role == "heading"]


def list_landmarks(tree: list[AccessibleNode]) -> list[tuple[str, str]]:
    """Return role and name of the landmarks."""
    return [(node.role, node.name) for node in tree if node.role in _LANDMARKS]


def list_image_names(tree: list[AccessibleNode]) -> list[str]:
    """Return the names of the images, "" for one without."""
    return [node.name for node in tree if node.role in ("image", "img")]
