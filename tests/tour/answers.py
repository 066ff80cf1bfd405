"""Describes a response by what its clients depend on."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import requests

_KEPT = ("content-type", "cache-control", "location", "www-authenticate", "retry-after", "allow", "content-disposition")
_TARGETS = {"a": "href", "form": "action", "img": "src", "iframe": "src"}


def describe_response(response: requests.Response) -> dict[str, Any]:
    """Return the status, the headers (most of them by name only) and the body of ``response``."""
    headers = {name.lower(): value if name.lower() in _KEPT else "" for name, value in sorted(response.headers.items())}
    if "location" in headers:  # of the query, the names: a text in it is for people
        headers["location"] = re.sub(r"=[^&]*", "", headers["location"])
    kind = response.headers.get("Content-Type", "").partition(";")[0]
    return {"status": response.status_code, "headers": headers, "body": _describe_body(response, kind)}


def _describe_body(response: requests.Response, kind: str) -> Any:
    if not response.content:
        return None
    if kind.endswith("json"):
        return _describe_json(response.json())
    if kind == "text/html":
        parser = _PageParser()
        parser.feed(response.text)
        return {"title": parser.title.strip(), "targets": sorted(parser.targets)}
    if response.text.startswith("# HELP"):
        return {"metrics": [line for line in response.text.splitlines() if line.startswith("# TYPE")]}
    if kind in ("text/plain", "text/csv"):
        return {kind.partition("/")[2]: response.text}
    return {"kind": kind, "digits": len(str(len(response.content)))}


def _describe_json(body: Any) -> Any:
    if not isinstance(body, dict) or "openapi" not in body:
        return body
    paths = body["paths"].items()  # the rest of the API description has tests of its own
    operations = {f"{method.upper()} {path}" for path, item in paths for method in item if method != "parameters"}
    return {"version": body["info"]["version"], "operations": sorted(operations)}


class _PageParser(HTMLParser):
    """Collects the title and the addresses of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.title, self.targets, self._is_title = "", set[str](), False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._is_title = tag == "title" and not self.title
        address = dict(attrs).get(_TARGETS.get(tag, ""))
        if address:
            self.targets.add(f"{tag} {re.sub(r'[?#].*', '', address)}")

    def handle_data(self, data: str) -> None:
        if self._is_title:
            self.title += data

    def handle_endtag(self, tag: str) -> None:
        self._is_title = False
