"""Example values for the types of the API, where the description has none of its own."""

from collections.abc import Mapping
from typing import Any

Schema = Mapping[str, Any]

_MAX_DEPTH = 12  # no type of the API is nested deeper; stops at one that contains itself
_BY_FORMAT = {
    "date-time": "2026-11-21T14:02:11.000Z",
    "email": "ada@example.com",
    "password": "open sesame",
    "uri": "https://docs.example.com/aB3dE5fG7hJ9",
    "uuid": "3f2b8c1e-6c51-4d0b-9a53-0d4f8f1f2a77",
}
_BY_NAME = {
    "assetId": "3f2b8c1e-6c51-4d0b-9a53-0d4f8f1f2a77",
    "author": "Ada",
    "body": "Is this the final figure?",
    "code": "not_found",
    "country": "DE",
    "email": "ada@example.com",
    "fileName": "report.pdf",
    "filename": "report.pdf",
    "fileUuid": "0b8e7d5c-3f0e-4f4f-9d0c-2a7b1f6c8e11",
    "ga4Id": "G-AB12CD34EF",
    "label": "Ann Lee",
    "mimeType": "application/pdf",
    "name": "Ann Lee",
    "note": "Larger, please.",
    "originalName": "report.pdf",
    "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "shortId": "aB3dE5fG7hJ9",
    "size": 184320,
    "slug": "offer",
    "tail": "q7Xw",
    "title": "report.pdf",
    "totalPages": 8,
}
_BY_PATTERN = {
    "^#[0-9A-Fa-f]{6}$": "#1f6f43",
    "^#[0-9a-f]{6}$": "#1f6f43",
    "^[a-z][a-z0-9_]{0,39}$": "company",
    "^ds_rk_[0-9A-Za-z]{32,}$": "ds_rk_4f9KxT2mQ8vB7nZ1cR6yW3pL5sD0hJaE",
}


def build_example(schemas: Mapping[str, Schema], schema: Schema, name: str = "", depth: int = 0) -> Any:
    """Return a value that ``schema`` allows; ``name``: the property that it belongs to.

    Parameters: ``schemas`` the named types of the description.
    """
    schema = resolve(schemas, schema)
    for key in ("example", "default"):
        if key in schema:
            return schema[key]
    if "enum" in schema:
        return schema["enum"][0]
    if choices := schema.get("oneOf") or schema.get("anyOf"):
        return build_example(
            schemas, {**schema, "oneOf": None, "anyOf": None, **resolve(schemas, choices[0])}, name, depth
        )
    if depth > _MAX_DEPTH:
        return {}
    if len(schema.get("allOf", ())) == 1 and "properties" not in schema:  # a description for a named type
        return build_example(schemas, schema["allOf"][0], name, depth)
    if "properties" in schema or "allOf" in schema or schema.get("type") == "object":
        return {
            key: build_example(schemas, each, key, depth + 1) for key, each in list_properties(schemas, schema).items()
        }
    if schema.get("type") == "array":
        return [build_example(schemas, schema.get("items", {}), name.removesuffix("s"), depth + 1)]
    return _build_scalar(schema, name)


def list_properties(schemas: Mapping[str, Schema], schema: Schema) -> dict[str, Schema]:
    """Return the properties of ``schema`` and of the types that it combines with ``allOf``."""
    schema = resolve(schemas, schema)
    found: dict[str, Schema] = {}
    for part in schema.get("allOf", ()):
        found |= list_properties(schemas, part)
    found |= schema.get("properties", {})
    return found


def list_required(schemas: Mapping[str, Schema], schema: Schema) -> set[str]:
    """Return the names of the properties that ``schema`` requires."""
    schema = resolve(schemas, schema)
    parts = (list_required(schemas, part) for part in schema.get("allOf", ()))
    return set(schema.get("required", ())).union(*parts)


def resolve(schemas: Mapping[str, Schema], schema: Schema) -> Schema:
    """Return the type that ``schema`` refers to, or ``schema`` itself."""
    return schemas[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema


def _build_scalar(schema: Schema, name: str) -> Any:
    kind = schema.get("type")
    if kind == "boolean":
        return True
    low = schema.get("minimum", 0)
    if kind == "integer":
        found = _BY_NAME.get(name, max(low, 3))
        return min(found if isinstance(found, int) else 3, schema.get("maximum", 2**53))
    if kind == "number":
        return min(max(low, 0.5), schema.get("maximum", 1))
    if kind != "string":
        return {}
    if (pattern := schema.get("pattern", "")) in _BY_PATTERN:
        return _BY_PATTERN[pattern]
    if name in _BY_NAME and isinstance(_BY_NAME[name], str):
        return _BY_NAME[name]
    return _BY_FORMAT.get(schema.get("format", ""), "text")
