"""Parse ``share.yaml`` and report all of its errors at once, before anything is sent."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from docshare.cli.commands.apply.model import DesiredFile, DesiredState, DesiredVariant, DesiredWebhook
from docshare.cli.commands.apply.yaml_file import ParseErrors, YamlNode, read_yaml
from docshare.cli.commands.settings.changes import SettingChanges
from docshare.cli.commands.settings.declarations import VIEWER, canonicalize, find_setting, is_object_key
from docshare.cli.commands.settings.overrides import Overrides, build_overrides
from docshare.cli.commands.settings.values import is_duration, parse_time
from docshare.cli.commands.webhooks.urls import check_format, check_url
from docshare.cli.framework.connection import keep_secret
from docshare.cli.framework.context import Context
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.framework.inputs import read_text
from docshare.cli.framework.sources import Item, build_items, check_item, compute_digest
from docshare.cli.terminal.text import parse_duration
from docshare.contract import fields
from docshare.contract.limits import VARIANT_LABEL_CHARS, VARIANTS_PER_FILE
from docshare.contract.settings import SETTINGS
from docshare.contract.webhooks import DEFAULT_FORMAT, FORMATS, KINDS, WEBHOOKS_PER_ACCOUNT, parse_event_kinds

_VERSION = 1
_TOP_KEYS = ("version", "files", "webhooks")
_FILE_KEYS = ("path", "key", "name", "uuid", "keepAnchors", "settings", "variants")
_VARIANT_KEYS = ("label", "allowDownload", "pageRange", "readerChoice", "revoked")
_WEBHOOK_KEYS = ("url", "events", "format", "file", "secretFile", "private")
_PASSWORD_KEY = "passwordFile"  # noqa: S105 - the key of a path
_NATIVE_KINDS = ("boolean", "integer", "number", "form")  # kinds of settings that YAML has types for
_check_label = fields.text_parser(1, VARIANT_LABEL_CHARS)


def read_desired_state(context: Context, path: Path) -> DesiredState:
    """Parse the file at ``path``; paths in it are relative to its directory. Raise Stop (2) for any error."""
    mistakes = ParseErrors(path)
    desired_state = _Parser(context, path.parent, mistakes).parse(read_yaml(path))
    mistakes.raise_if_any(context)
    return desired_state


class _Parser:
    def __init__(self, context: Context, folder: Path, mistakes: ParseErrors) -> None:
        self._ctx = context
        self._folder = folder
        self._mistakes = mistakes

    def parse(self, root: YamlNode) -> DesiredState:
        top = self._mistakes.read_mapping(root, _TOP_KEYS, "the file")
        if top is None:
            return DesiredState((), ())
        version = top.get("version")
        if version is None or version.value != _VERSION or version.value is True:
            line = root.line if version is None else version.line
            self._mistakes.add(line, f"the file must contain version: {_VERSION}")
        files = [self._parse_file(node) for node in self._mistakes.read_list(top.get("files"), "files")]
        whole = [each for each in files if each is not None]
        self._reject_duplicates(
            [(desired.key, desired.line) for desired in whole], "key", "Give one of them its own key."
        )
        self._reject_duplicates([(desired.slug, desired.line) for desired in whole if desired.slug], "slug")
        hooks = [self._parse_webhook(node) for node in self._mistakes.read_list(top.get("webhooks"), "webhooks")]
        valid_hooks = [each for each in hooks if each is not None]
        self._check_webhooks(valid_hooks, {desired.key for desired in whole} if len(whole) == len(files) else None)
        return DesiredState(tuple(whole), tuple(valid_hooks))

    def _reject_duplicates(self, names: list[tuple[str, int]], what: str, hint: str = "") -> None:
        first: dict[str, int] = {}
        for name, line in names:
            if name in first:
                self._mistakes.add(line, f"the {what} {name!r} is already used in line {first[name]}", hint)
            first.setdefault(name, line)

    def _require_text(self, entries: Mapping[str, YamlNode] | None, key: str, line: int, what: str) -> str | None:
        """Return the text of a required key, or None after recording that it is missing."""
        if entries is not None and key not in entries:
            self._mistakes.add(line, f"{what} requires a {key}")
        return None if entries is None else self._mistakes.read_text(entries.get(key), key)

    # --- files -----------------------------------------------------------------------------------------------------

    def _parse_file(self, node: YamlNode) -> DesiredFile | None:
        entries = self._mistakes.read_mapping(node, _FILE_KEYS, "a file")
        path = self._require_text(entries, "path", node.line, "a file")
        if entries is None or path is None:
            return None
        changes, lifetime, password = self._parse_settings(entries.get("settings"))
        item, digest = self._inspect_document(
            path, self._mistakes.read_text(entries.get("name"), "name"), entries["path"].line
        )
        uuid = self._mistakes.read_text(entries.get("uuid"), "uuid")
        if uuid is not None:
            with self._mistakes.collect(entries["uuid"].line):
                uuid = fields.parse_uuid("uuid", uuid)
        return DesiredFile(
            key=self._mistakes.read_text(entries.get("key"), "key") or os.path.normpath(path),
            item=item,
            digest=digest,
            line=node.line,
            uuid=uuid,
            keep_anchors=self._mistakes.read_boolean(entries.get("keepAnchors"), "keepAnchors") or False,
            changes=changes,
            password=password,
            lifetime=lifetime,
            variants=self._parse_variants(entries.get("variants")),
        )

    def _inspect_document(self, path: str, name: str | None, line: int) -> tuple[Item, str]:
        (item,) = build_items([str(self._folder / path)], name, command="push")
        item = check_item(item, command="push")
        with self._mistakes.collect(line):
            if item.refusal is not None:
                raise item.refusal
            return item, compute_digest(item)
        return item, ""

    # --- settings --------------------------------------------------------------------------------------------------

    def _parse_settings(self, node: YamlNode | None) -> tuple[SettingChanges, int | None, str | None]:
        """Return the changes, the lifetime in milliseconds, and the password."""
        changes = SettingChanges()
        if node is None:
            return changes, None, None
        if not isinstance(node.value, dict):
            self._mistakes.add(node.line, "settings must be a mapping (key: value)")
            return changes, None, None
        entries = dict(node.value)
        password = self._parse_password(entries.pop(_PASSWORD_KEY)) if _PASSWORD_KEY in entries else None
        lifetime = None
        if "deleteAt" in entries and is_duration(entries["deleteAt"].text):
            end = entries.pop("deleteAt")
            with self._mistakes.collect(end.line):
                parse_time(self._ctx, end.text, "deleteAt")  # rejects a year beyond 9999
                lifetime = int(parse_duration(end.text) * 1000)
            if "neverExpire" in entries:
                self._mistakes.add(end.line, "deleteAt and neverExpire cannot be used together")
        for key, value in entries.items():
            self._parse_setting(changes, canonicalize(key), value)
        if changes.fields.get("gateFields") and changes.fields.get("requireEmail") is False:
            self._mistakes.add(node.line, "a form always asks for an email address: remove requireEmail: false")
        return changes, lifetime, password

    def _parse_setting(self, changes: SettingChanges, key: str, node: YamlNode) -> None:
        if is_object_key(key) and isinstance(node.value, dict) and node.value:
            for name, inner in node.value.items():
                self._parse_setting(changes, canonicalize(name if key == VIEWER else f"{key}.{name}"), inner)
            return
        with self._mistakes.collect(node.line):
            if key == "password":
                raise Stop(ExitCode.USAGE, "a password cannot be set here", hint=f"Name its file: {_PASSWORD_KEY}: F")
            if node.is_empty:
                hint = "To clear it, use null. A # starts a comment, so put colors in quotes."
                raise Stop(ExitCode.USAGE, f"{key} is empty", hint=hint)
            changes.put(key, None if is_object_key(key) and not node.value else self._parse_value(key, node))

    def _parse_value(self, key: str, node: YamlNode) -> Any:
        row = find_setting(key)
        if key in SETTINGS and SETTINGS[key].visibility == "never" and key != "neverExpire":
            raise Stop(ExitCode.USAGE, f"{key} is a command, not a setting", hint="See: docshare settings set -h")
        if node.value is None:
            return None
        if row.kind in _NATIVE_KINDS or isinstance(node.value, dict | list):
            return node.to_plain()
        return row.parse(self._ctx, node.text)

    def _parse_password(self, node: YamlNode) -> str | None:
        """Return the password in a file; empty to remove it, None if it cannot be read."""
        if node.value is None and not node.is_empty:
            return ""
        source = self._mistakes.read_text(node, _PASSWORD_KEY)
        with self._mistakes.collect(node.line):
            if source is not None:
                return self._read_password_file(self._folder / source)
        return None

    def _read_password_file(self, path: Path) -> str:
        found = read_text(self._ctx, str(path), _PASSWORD_KEY).removesuffix("\n").removesuffix("\r")
        if not found:
            raise Stop(ExitCode.USAGE, f"{path} is empty", hint=f"To remove the password: {_PASSWORD_KEY}: null")
        find_setting("password").validate(found)
        return keep_secret(self._ctx, found)

    # --- variants --------------------------------------------------------------------------------------------------

    def _parse_variants(self, node: YamlNode | None) -> tuple[DesiredVariant, ...]:
        found, lines = [], []
        for each in self._mistakes.read_list(node, "variants"):
            desired = self._parse_variant(each)
            if desired is not None:
                found.append(desired)
                lines.append((desired.label, each.line))
        self._reject_duplicates(lines, "label")
        if node is not None and len(found) > VARIANTS_PER_FILE:
            self._mistakes.add(node.line, f"a file can have at most {VARIANTS_PER_FILE} variants")
        return tuple(found)

    def _parse_variant(self, node: YamlNode) -> DesiredVariant | None:
        entries = self._mistakes.read_mapping(node, _VARIANT_KEYS, "a variant")
        label = self._require_text(entries, "label", node.line, "a variant")
        if entries is None or label is None:
            return None
        overrides: Overrides = {}
        with self._mistakes.collect(node.line):
            label = _check_label("label", label.strip())
            download = self._mistakes.read_boolean(entries.get("allowDownload"), "allowDownload")
            choice = self._mistakes.read_boolean(entries.get("readerChoice"), "readerChoice")
            pages = _format_page_range(entries.get("pageRange"))
            overrides = build_overrides(download, pages, "pageRange", choice=choice)
        return DesiredVariant(label, overrides, self._mistakes.read_boolean(entries.get("revoked"), "revoked"))

    # --- webhooks --------------------------------------------------------------------------------------------------

    def _parse_webhook(self, node: YamlNode) -> DesiredWebhook | None:
        entries = self._mistakes.read_mapping(node, _WEBHOOK_KEYS, "a webhook")
        url = self._require_text(entries, "url", node.line, "a webhook")
        if entries is None or url is None:
            return None
        private = self._mistakes.read_boolean(entries.get("private"), "private") or False
        format_ = self._mistakes.read_text(entries.get("format"), "format")
        with self._mistakes.collect(entries["url"].line):
            _check_address(self._ctx, url, format_, private=private)
        if format_ is not None and format_ not in FORMATS:
            self._mistakes.add(entries["format"].line, f"format must be one of {', '.join(FORMATS)}")
        kinds: list[str] = []
        with self._mistakes.collect(entries["events"].line if "events" in entries else node.line):
            events = entries["events"].to_plain() if "events" in entries else None
            kinds = list(KINDS) if events == "all" else parse_event_kinds("events", events)
        secret = self._mistakes.read_text(entries.get("secretFile"), "secretFile")
        return DesiredWebhook(
            url=url,
            events=tuple(sorted(kinds)),
            format=format_ or DEFAULT_FORMAT,
            file=self._mistakes.read_text(entries.get("file"), "file"),
            secret_file=None if secret is None else self._folder / secret,
            line=node.line,
        )

    def _check_webhooks(self, hooks: list[DesiredWebhook], keys: set[str] | None) -> None:
        """Record the errors of the webhooks as a set. ``keys``: of all files, None if some could not be parsed."""
        self._reject_duplicates([(hook.key, hook.line) for hook in hooks], "webhook")
        secrets = [(str(hook.secret_file), hook.line) for hook in hooks if hook.secret_file is not None]
        self._reject_duplicates(secrets, "secretFile")
        if len(hooks) > WEBHOOKS_PER_ACCOUNT:
            self._mistakes.add(hooks[-1].line, f"an account can have at most {WEBHOOKS_PER_ACCOUNT} webhooks")
        for hook in hooks:
            if keys is not None and hook.file is not None and hook.file not in keys:
                hint = f"Keys: {', '.join(sorted(keys)) or 'none'}."
                self._mistakes.add(hook.line, f"no file has the key {hook.file!r}", hint)
            if hook.format == DEFAULT_FORMAT and hook.secret_file is None:
                self._mistakes.add(hook.line, "secretFile is required: the secret of a webhook is shown only once")
            if hook.format != DEFAULT_FORMAT and hook.secret_file is not None:
                self._mistakes.add(hook.line, "secretFile must be omitted: Slack messages are not signed")


def _format_page_range(node: YamlNode | None) -> str | None:
    """Return a page range as text."""
    if node is None:
        return None
    if isinstance(node.value, Mapping) and node.value.keys() == {"from", "to"}:
        return f"{node.value['from'].text}-{node.value['to'].text}"
    return node.text


def _check_address(context: Context, url: str, format_: str | None, *, private: bool) -> None:
    """Raise Stop (2) as ``webhooks create`` does, with keys instead of options in the hints."""
    try:
        check_url(context, url, private=private)
        check_format(url, format_)
    except Stop as stop:
        hint = stop.hint.replace("--private", "private: true").replace("--format ", "format: ")
        raise Stop(stop.exit, stop.detail, hint=hint) from None
