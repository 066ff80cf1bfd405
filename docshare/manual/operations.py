"""The API description as rows for the pages: operations by noun, and the types of their bodies."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from docshare.contract.problems import PROBLEMS
from docshare.contract.scopes import OPERATIONS
from docshare.manual.examples import Schema, build_example, list_properties, list_required, resolve

# Part of the server package, which publishes it as JSON.
_DESCRIPTION = Path(__file__).parents[1] / "server" / "api" / "openapi.yaml"
_METHODS = ("get", "post", "put", "patch", "delete")
_LIMITS = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "pattern": "matches {}",
    "default": "default {}",
}


@dataclass(frozen=True)
class FieldRow:
    """A parameter or property: ``kind`` its type in words, ``type_name`` the named type that it has, or empty."""

    name: str
    kind: str
    type_name: str
    required: bool
    text: str
    is_addition: bool
    place: str = ""


@dataclass(frozen=True)
class BodyRow:
    """A request or response body; ``example``: formatted JSON, or empty for bytes."""

    media_type: str
    type_name: str
    kind: str
    fields: list[FieldRow]
    example: str


@dataclass(frozen=True)
class ResponseRow:
    """A response; ``codes``: the problem codes that it can carry."""

    status: str
    text: str
    bodies: list[BodyRow]
    codes: list[str]


@dataclass(frozen=True)
class OperationPage:
    """One operation; ``scope`` and ``credentials`` say who may call it."""

    name: str
    noun: str
    method: str
    path: str
    summary: str
    text: str
    scope: str
    credentials: list[str]
    is_addition: bool
    parameters: list[FieldRow]
    bodies: list[BodyRow]
    responses: list[ResponseRow]


@dataclass(frozen=True)
class TypeRow:
    """A named type of the API."""

    name: str
    kind: str
    text: str
    fields: list[FieldRow]
    is_addition: bool


class ApiDescription:
    """The whole description; ``nouns``: each noun of the API with its description."""

    def __init__(self) -> None:
        import yaml  # here: only the pages of the API need it

        text = _DESCRIPTION.read_text(encoding="utf-8")
        # The parser in C takes a tenth of the time; PyYAML can be built without it.
        found = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - both safe
        self._components: Mapping[str, Any] = found["components"]
        self.schemas: Mapping[str, Schema] = found["components"]["schemas"]
        self.text: str = found["info"]["description"]
        self.nouns: dict[str, str] = {tag["name"]: tag["description"] for tag in found["tags"]}
        self.operations = list(self._read_operations(found["paths"]))
        self.types = [self._read_type(name, schema) for name, schema in sorted(self.schemas.items())]

    def _read_operations(self, paths: Mapping[str, Any]) -> Iterator[OperationPage]:
        for path, item in paths.items():
            for method in (each for each in _METHODS if each in item):
                raw = item[method]
                row = OPERATIONS[raw["operationId"]]
                parameters = [*item.get("parameters", ()), *raw.get("parameters", ())]
                yield OperationPage(
                    name=raw["operationId"],
                    noun=raw["tags"][0],
                    method=method.upper(),
                    path=path,
                    summary=raw["summary"],
                    text=raw["description"],
                    scope=row.scope or "",
                    credentials=sorted(lane.value for lane in row.lanes),
                    is_addition=bool(raw.get("x-addition")),
                    parameters=[self._read_parameter(each) for each in parameters],
                    bodies=self._read_bodies(raw.get("requestBody", {})),
                    responses=[self._read_response(str(status), each) for status, each in raw["responses"].items()],
                )

    def _find_component(self, kind: str, value: Mapping[str, Any]) -> Mapping[str, Any]:
        found: Mapping[str, Any] = (
            self._components[kind][value["$ref"].rpartition("/")[2]] if "$ref" in value else value
        )
        return found

    def _read_parameter(self, value: Mapping[str, Any]) -> FieldRow:
        raw = self._find_component("parameters", value)
        schema = raw.get("schema", {})
        row = self._read_field(raw["name"], schema, required=bool(raw.get("required")))
        text = " ".join(part for part in (raw.get("description", ""), row.text) if part)
        return replace(row, text=text, place=raw["in"], is_addition=bool(raw.get("x-addition")))

    def _read_bodies(self, value: Mapping[str, Any]) -> list[BodyRow]:
        return [self._read_body(kind, each["schema"]) for kind, each in value.get("content", {}).items()]

    def _read_body(self, media_type: str, schema: Schema) -> BodyRow:
        example = ""
        if media_type.endswith("json"):
            example = json.dumps(build_example(self.schemas, schema), ensure_ascii=False, indent=2)
        fields = [] if _find_type_name(schema) else self._read_fields(schema)
        return BodyRow(media_type, _find_type_name(schema), _describe_kind(schema), fields, example)

    def _read_response(self, status: str, value: Mapping[str, Any]) -> ResponseRow:
        raw = self._find_component("responses", value)
        is_problem = "application/problem+json" in raw.get("content", {})
        codes = [code for code, row in PROBLEMS.items() if is_problem and str(row.status) == status]
        # A problem document is the same everywhere.
        bodies = [] if codes else self._read_bodies(raw)
        return ResponseRow(status, raw.get("description", ""), bodies, codes)

    def _read_type(self, name: str, schema: Schema) -> TypeRow:
        text = " ".join(part for part in (schema.get("description", ""), _describe_limits(schema)) if part)
        return TypeRow(name, _describe_kind(schema), text, self._read_fields(schema), bool(schema.get("x-addition")))

    def _read_fields(self, schema: Schema, prefix: str = "") -> list[FieldRow]:
        """Return the properties of ``schema``, those of objects without a name of their own as ``outer.inner``."""
        rows: list[FieldRow] = []
        required = list_required(self.schemas, schema)
        for choice in schema.get("oneOf", schema.get("anyOf", ())):
            rows += self._read_fields(choice, prefix)
        for name, each in list_properties(self.schemas, schema).items():
            rows.append(self._read_field(prefix + name, each, required=name in required))
            inner = each.get("items", {}) if each.get("type") == "array" else each
            if "$ref" not in inner:
                mark = "[]." if inner is not each else "."
                rows += self._read_fields(inner, f"{prefix}{name}{mark}")
        return list({row.name: row for row in rows}.values())

    def _read_field(self, name: str, schema: Schema, *, required: bool) -> FieldRow:
        target = resolve(self.schemas, schema)
        words = [schema.get("description", ""), _describe_limits(schema)]
        text = " ".join(part for part in words if part)
        is_addition = bool(schema.get("x-addition") or target.get("x-addition"))
        return FieldRow(name, _describe_kind(schema), _find_type_name(schema), required, text, is_addition)


def _find_type_name(schema: Schema) -> str:
    """Return the named type that ``schema`` is, or is a list of."""
    inner = schema.get("items", {}) if schema.get("type") == "array" else schema
    return str(inner.get("$ref", "")).rpartition("/")[2]


def _describe_kind(schema: Schema) -> str:
    """Return the type of ``schema`` in words; a named type is not repeated, because it is linked."""
    if schema.get("type") == "array":
        return f"array of {_describe_kind(schema.get('items', {}))}".removesuffix(" of ")
    if "$ref" in schema:
        return ""
    if "oneOf" in schema or "anyOf" in schema:
        return "one of several"
    kind = schema.get("type", "object" if "allOf" in schema or "properties" in schema else "any")
    return f"{kind} ({schema['format']})" if "format" in schema else str(kind)


def _describe_limits(schema: Schema) -> str:
    """Return the values that ``schema`` allows as a sentence, or an empty string."""
    words = []
    if "enum" in schema:
        words.append(
            "one of " + ", ".join(map(str, schema["enum"]))
            if len(schema["enum"]) > 1
            else f"always {schema['enum'][0]}"
        )
    for key, text in _LIMITS.items():
        if key in schema and isinstance(schema[key], str | int | float):
            value = schema[key]
            words.append(text.format(str(value).lower() if isinstance(value, bool) else value))
    return (words[0][0].upper() + words[0][1:] + "".join(f", {word}" for word in words[1:]) + ".") if words else ""
