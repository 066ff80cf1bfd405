"""Two checks of responses that Schemathesis does not have: the description lists the status, and every key of the
JSON."""

from collections.abc import Iterator
from typing import Any

import schemathesis


@schemathesis.check
def status_is_named(ctx: Any, response: Any, case: Any) -> None:
    """Check that the description lists the status of the response. Other methods of the path are not operations."""
    if case.method != case.operation.method.upper():
        return
    named = case.operation.definition.raw["responses"]
    assert str(response.status_code) in named, f"{response.status_code} is not named"


@schemathesis.check
def keys_are_described(ctx: Any, response: Any, case: Any) -> None:
    """Check that all keys of the response are described; newer keys may be added with their description."""
    document = case.operation.schema.raw_schema
    responses = case.operation.definition.raw["responses"]
    answer = _resolve_reference(responses.get(str(response.status_code), {}), document)
    kind = response.headers.get("content-type", [""])[0].partition(";")[0]
    if kind.endswith("json") and kind in answer.get("content", {}):
        unknown = {*_find_undescribed(response.json(), answer["content"][kind]["schema"], document)}
        assert not unknown, f"not described: {', '.join(sorted(unknown))}"


def _find_undescribed(value: Any, schema: dict[str, Any], document: dict[str, Any], place: str = "") -> Iterator[str]:
    """Return the places where ``value`` has keys that ``schema`` does not describe."""
    parts = [*_list_schemas(schema, document)]
    if isinstance(value, list):
        inside = {"anyOf": [part["items"] for part in parts if "items" in part]}
        for each in value if inside["anyOf"] else ():
            yield from _find_undescribed(each, inside, document, f"{place}[]")
    elif isinstance(value, dict):
        for key, each in value.items():
            described = [part["properties"][key] for part in parts if key in part.get("properties", ())]
            if described:
                yield from _find_undescribed(each, {"anyOf": described}, document, f"{place}.{key}")
            elif not any(_allows_any_key(part) for part in parts):
                yield f"{place}.{key}"


def _allows_any_key(part: dict[str, Any]) -> bool:
    """Return whether an object may have any key: if the description allows it, or says nothing about it."""
    silent = part.keys().isdisjoint(("properties", "allOf", "anyOf", "oneOf"))
    return bool(part.get("additionalProperties", silent))


def _list_schemas(schema: dict[str, Any], document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the schema and all those that it is composed of."""
    schema = _resolve_reference(schema, document)
    yield schema
    for word in ("allOf", "anyOf", "oneOf"):
        for part in schema.get(word, ()):
            yield from _list_schemas(part, document)


def _resolve_reference(part: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    """Return ``part``, or what it refers to."""
    while "$ref" in part:
        found: Any = document
        for word in part["$ref"].removeprefix("#/").split("/"):
            found = found[word]
        part = found
    return part
