"""The types of the client are those of ``openapi.yaml`` and of the table of webhook kinds."""

import inspect
from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from types import NoneType, UnionType
from typing import Any, Literal, NotRequired, Required, Union, get_args, get_origin, get_type_hints, is_typeddict

import pytest
import yaml

import docshare.client.types
from docshare.client.types import events
from docshare.contract import webhooks
from tests.test_architecture import PACKAGE

SPEC: dict[str, Any] = yaml.safe_load((PACKAGE / "server/api/openapi.yaml").read_text(encoding="utf-8"))
SCHEMAS: dict[str, Any] = SPEC["components"]["schemas"]
NAMES = [found.name for found in iter_modules(docshare.client.types.__path__)]
MODULES = [import_module(f"docshare.client.types.{name}") for name in NAMES]
TYPES: dict[str, Any] = {
    name: kind for module in MODULES for name, kind in vars(module).items() if is_typeddict(kind) and name[0] != "_"
}
# Keys that the client adds, or leaves out of a result that it recovered.
CLIENT_KEYS = {
    "UploadResult": {"recovered", "sha256"},
    "ReplaceResult": {"recovered", "sha256"},
    "Variant": {"recovered"},
    "CreatedWebhook": {"recovered"},
}
SCALARS = {"string": str, "integer": int, "number": float, "boolean": bool}
# Schemas of requests that are arguments of the client, of parts, and of the unions below.
NOT_ANSWERS = {
    "Problem", "VariantCreate", "InviteCreate", "ApiKeyCreate", "NewWebhook", "WebhookList", "Identity", "Counts",
    "BeaconPages", "Color", "Corner", "HttpsUrl", "ActivityKind", "Activity", "Events", "EventKind", "ActivityRow",
}  # fmt: skip

# Operation -> noun and method of the client, and the type of its answer.
ANSWERS = {
    "files.list": ("files.FilesApi.list", "list[File]"),
    "files.get": ("files.FilesApi.show", "FileDetail"),
    "files.upload": ("files.FilesApi.upload", "UploadResult"),
    "files.replace": ("files.FilesApi.replace", "ReplaceResult"),
    "files.delete": ("files.FilesApi.delete", "DeleteResult"),
    "files.restore": ("files.FilesApi.restore", "File"),
    "files.claim": ("files.FilesApi.claim", "UploadResult"),
    "files.import": ("imports.ImportsApi.create", "ImportResult"),
    "design.import": ("design.DesignApi.publish", "DesignImportResult"),
    "design.status": ("design.DesignApi.status", "DesignStatus"),
    "assets.create": ("assets.AssetsApi.add", "Asset"),
    "variants.list": ("variants.VariantsApi.list", "list[Variant]"),
    "variants.create": ("variants.VariantsApi.create", "Variant"),
    "variants.update": ("variants.VariantsApi.update", "Variant"),
    "invites.list": ("invites.InvitesApi.list", "list[Invite]"),
    "invites.create": ("invites.InvitesApi.create", "Invite"),
    "readership.report": ("readership.ReadershipApi.report", "Readership"),
    "readership.pages": ("readership.ReadershipApi.pages", "PageReadership"),
    "readership.marks": ("readership.ReadershipApi.marks", "PageMarks"),
    "readership.annotations": ("readership.ReadershipApi.annotations", "Annotations"),
    "readership.feedback": ("readership.ReadershipApi.feedback", "Feedback"),
    "readership.session": ("readership.ReadershipApi.session", "SessionAccount"),
    "public.metadata": ("public.PublicApi.metadata", "PublicMetadata"),
    "public.upload": ("public.PublicApi.upload", "AnonymousUploadResult"),
    "oembed.get": ("public.PublicApi.oembed", "OEmbed"),
    "account.get": ("account.AccountApi.show", "Account"),
    "discovery.get": ("client.Client.discover", "Discovery"),
    "keys.list": ("keys.KeysApi.list", "list[ApiKey]"),
    "keys.create": ("keys.KeysApi.create", "NewApiKey"),
    "events.list": ("events.EventsApi.page", "list[Event]"),
    "activity.list": ("activity.ActivityApi.page", "list[ActivityRow]"),
    "webhooks.list": ("webhooks.WebhooksApi.list", "list[Webhook]"),
    "webhooks.create": ("webhooks.WebhooksApi.create", "CreatedWebhook"),
    "webhooks.test": ("webhooks.WebhooksApi.test", "WebhookTest"),
    "webhooks.enable": ("webhooks.WebhooksApi.enable", "Webhook"),
    "webhooks.redeliver": ("webhooks.WebhooksApi.redeliver", "Delivery"),
    "webhooks.deliveries": ("webhooks.WebhooksApi.deliveries", "Feed[Delivery]"),
}
# Answers without JSON, the two kinds of sessions, whose methods are typed apart, and the login, which has a class.
UNTYPED = {"openapi.get", "files.settings", "files.download", "files.qr", "variants.delete", "public.qr", "keys.revoke",
           "gate.list", "webhooks.delete", "readership.sessions", "oauth.device"}  # fmt: skip


def resolve(schema: dict[str, Any]) -> dict[str, Any]:
    """Return ``schema`` without references and with the parts of ``allOf`` merged."""
    if "$ref" in schema:
        return resolve(SCHEMAS[schema["$ref"].rsplit("/", 1)[1]])
    parts = [resolve(part) for part in schema.get("allOf", ())]
    if not parts:
        return schema
    merged = {key: value for part in parts for key, value in part.items()}
    if "properties" in merged:
        merged["properties"] = {key: value for part in parts for key, value in part["properties"].items()}
        merged["required"] = [key for part in parts for key in part.get("required", ())]
    return merged


def list_differences(hint: Any, schema: dict[str, Any], place: str) -> Iterator[str]:
    """Yield how the type ``hint`` differs from ``schema``."""
    schema = resolve(schema)
    if get_origin(hint) in (NotRequired, Required):
        hint = get_args(hint)[0]
    is_nullable = get_origin(hint) in (Union, UnionType) and NoneType in get_args(hint)
    if is_nullable != schema.get("nullable", False):
        yield f"{place}: null"
    if is_nullable:
        hint = next(each for each in get_args(hint) if each is not NoneType)
    if "enum" in schema:
        if get_origin(hint) is not Literal or list(get_args(hint)) != schema["enum"]:
            yield f"{place}: {hint} is not {schema['enum']}"
    elif schema["type"] in SCALARS:
        if hint is not SCALARS[schema["type"]]:
            yield f"{place}: {hint} is not a {schema['type']}"
    elif schema["type"] == "array":
        if get_origin(hint) is not list:
            yield f"{place}: {hint} is not an array"
        else:
            yield from list_differences(get_args(hint)[0], schema["items"], f"{place}[]")
    elif "properties" in schema:
        yield from list_key_differences(hint, schema, place)
    elif isinstance(schema.get("additionalProperties"), dict):
        if get_origin(hint) is not dict:
            yield f"{place}: {hint} is not an object"
        else:
            yield from list_differences(get_args(hint)[1], schema["additionalProperties"], f"{place}{{}}")
    elif hint != dict[str, Any]:
        yield f"{place}: {hint} is not any object"


def list_key_differences(hint: Any, schema: dict[str, Any], place: str) -> Iterator[str]:
    if not is_typeddict(hint):
        yield f"{place}: {hint} has no keys"
        return
    hints = get_type_hints(hint, include_extras=True)
    extra = CLIENT_KEYS.get(hint.__name__, set())
    if (known := set(schema["properties"])) != set(hints) - extra:
        yield f"{place}: {known ^ (set(hints) - extra)} on one side only"
    if (required := set(schema.get("required", ()))) != hint.__required_keys__:
        yield f"{place}: {required ^ hint.__required_keys__} required on one side only"
    for key in known & set(hints):
        yield from list_differences(hints[key], schema["properties"][key], f"{place}.{key}")


def test_every_schema_of_an_answer_has_a_type() -> None:
    assert set(SCHEMAS) - NOT_ANSWERS <= set(TYPES)
    assert set(SCHEMAS) >= NOT_ANSWERS


@pytest.mark.parametrize("name", sorted(set(SCHEMAS) - NOT_ANSWERS))
def test_the_type_has_the_keys_of_its_schema(name: str) -> None:
    assert list(list_differences(TYPES[name], SCHEMAS[name], name)) == []


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (str, {"type": "integer"}),
        (str, {"type": "string", "nullable": True}),
        (Literal["a"], {"type": "string", "enum": ["a", "b"]}),
        (list[str], {"type": "array", "items": {"type": "integer"}}),
        (TYPES["Rect"], {"type": "object", "properties": {"x": {"type": "number"}}}),
    ],
)
def test_the_comparison_finds_a_difference(hint: Any, schema: dict[str, Any]) -> None:
    assert list(list_differences(hint, schema, "here"))


def test_every_operation_of_the_api_has_a_typed_method() -> None:
    operations = {
        row["operationId"] for path in SPEC["paths"].values() for row in path.values() if "operationId" in row
    }
    assert {name for name in operations if not name.startswith("session.")} == set(ANSWERS) | UNTYPED


@pytest.mark.parametrize("operation", ANSWERS)
def test_the_method_returns_the_type_of_the_operation(operation: str) -> None:
    place, wanted = ANSWERS[operation]
    module, kind, method = place.split(".")
    found = inspect.signature(getattr(getattr(import_module(f"docshare.client.{module}"), kind), method))
    assert found.return_annotation == wanted


def test_the_events_are_those_of_the_contract() -> None:
    kinds = {get_args(get_type_hints(row)["event"])[0]: row for row in get_args(events.WebhookEvent)}
    assert set(kinds) == {*webhooks.KINDS, webhooks.TEST_KIND}
    rows = {get_args(get_type_hints(row)["event"])[0]: row for row in get_args(events.ActivityRow)}
    assert set(rows) == set(SCHEMAS["ActivityKind"]["enum"]) == set(webhooks.ACTIVITY_KINDS)
    assert set(get_args(events.EventKind)) == set(webhooks.KINDS)
    for kind, row in rows.items():
        assert row.__required_keys__ == set(SCHEMAS["ActivityRow"]["required"])
        known = webhooks.KINDS.get(kind)
        required = webhooks.DENIED_REQUIRED_KEYS if known is None else known.required_keys
        optional = webhooks.DENIED_OPTIONAL_KEYS if known is None else known.optional_keys
        data = get_type_hints(row)["data"]
        assert data.__required_keys__ == {*webhooks.DATA_KEYS, *required}, kind
        assert data.__optional_keys__ == set(optional), kind
        if known is not None:
            assert kinds[kind].__required_keys__ == set(webhooks.ENVELOPE_KEYS)


def test_the_words_of_an_event_are_those_of_the_contract() -> None:
    words = {
        (events.GateCompletedData, "source"): webhooks.GATE_SOURCES,
        (events.ProofingUpdatedData, "kind"): webhooks.PROOFING_KINDS,
        (events.AccessDeniedData, "reason"): webhooks.DENIED_REASONS,
    }
    for (data, key), wanted in words.items():
        assert get_args(get_type_hints(data)[key]) == wanted
