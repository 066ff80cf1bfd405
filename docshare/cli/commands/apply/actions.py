"""The actions of ``docshare apply``, one step each; the state is saved after each step."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docshare.cli.commands.apply.model import DesiredFile, DesiredVariant, DesiredWebhook
from docshare.cli.commands.apply.settings import build_settings_body
from docshare.cli.commands.apply.state import ApplyState, hash_password
from docshare.cli.commands.browse import require_share_link
from docshare.cli.commands.push.run import upload_with_progress
from docshare.cli.commands.settings.stored import Difference, describe_ineffective_domains, describe_mismatches
from docshare.cli.commands.settings.write import add_hint
from docshare.cli.commands.upload.new_version import replace_with_progress
from docshare.cli.framework.connection import keep_secret
from docshare.cli.framework.context import Context
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.local.secret_file import create_secret_file
from docshare.cli.local.storage import write_error
from docshare.client.errors import Refused
from docshare.contract.plans import Plan

if TYPE_CHECKING:
    from docshare.client import Client

Row = Mapping[str, Any]

_SECRET_ATTEMPTS = 2  # a lost response also loses the webhook's secret, so the webhook is created again


@dataclass
class FileTarget:
    """A file of ``share.yaml``: its ``key``, and ``row``, the File object (empty until it is uploaded)."""

    key: str
    row: Row = field(default_factory=dict)

    @property
    def uuid(self) -> str:
        """Return the UUID of the file; empty until it is uploaded."""
        return str(self.row.get("uuid", ""))


@dataclass(frozen=True)
class Action:
    """One step.

    ``verb``: one of the four verbs of ``output``; ``kind``: file, settings, variant or webhook; ``file``: the key of
    its file; ``run``: carries it out and returns the resulting ``uuid`` and ``url``; ``is_risky``: takes something away
    from readers or receivers; ``required_plans``: keys that require a paid plan.
    """

    verb: str
    kind: str
    name: str
    run: Callable[[], Row]
    file: str = ""
    changes: Sequence[Difference] = ()
    is_risky: bool = False
    required_plans: Mapping[Plan, Sequence[str]] = field(default_factory=dict)

    def row(self, *, done: bool) -> Row:
        """Return the action as a row for programs."""
        changes = {change.key: {"from": change.old, "to": change.new} for change in self.changes}
        row: dict[str, Any] = {"action": self.verb, "kind": self.kind, "name": self.name}
        row |= {"file": self.file} if self.file else {}
        return row | ({"changes": changes} if changes else {}) | {"done": done}


class Executor:
    """Carries out the actions and records each in ``state``."""

    def __init__(self, context: Context, client: "Client", state: ApplyState) -> None:
        self._ctx = context
        self._client = client
        self._state = state

    # --- files -----------------------------------------------------------------------------------------------------

    def upload(self, desired: DesiredFile, target: FileTarget) -> Row:
        """Upload a document."""
        uploaded = upload_with_progress(self._ctx, self._client, desired.item)
        # Recorded before anything else can fail, so that the next run continues with this file instead of a new one.
        self._state.files[desired.key] = {"uuid": uploaded["uuid"], "sha256": desired.digest, "contentVersion": 1}
        self._state.save()
        target.row = self._client.files.show(str(uploaded["uuid"]))
        self.record_file(desired, target)
        return {"uuid": target.uuid, "url": require_share_link(uploaded)}

    def replace(self, desired: DesiredFile, target: FileTarget) -> Row:
        """Replace the document behind the link of a file."""
        done = replace_with_progress(
            self._ctx, self._client, target.uuid, desired.item, keep_anchors=desired.keep_anchors
        )
        self._state.get_entry(desired.key).update(sha256=desired.digest, contentVersion=done.get("contentVersion"))
        return {"uuid": target.uuid, **({"url": target.row["shareUrl"]} if "shareUrl" in target.row else {})}

    def record_file(
        self,
        desired: DesiredFile,
        target: FileTarget,
        links: Mapping[str, str] | None = None,
        settled: Sequence[str] = (),
    ) -> None:
        """Record which file this is, and its known variants (``links``: UUIDs by label).

        ``settled``: settings that are back at their defaults.
        """
        entry = self._state.get_entry(desired.key)
        if entry.get("uuid") != target.uuid:
            self._state.files[desired.key] = entry = {}
        entry["uuid"] = target.uuid
        if target.row.get("createdAt") is not None:
            entry["createdAt"] = target.row["createdAt"]
        entry["settings"] = sorted({*entry.get("settings", []), *desired.set_keys} - set(settled))
        if links:
            entry["variants"] = {**entry.get("variants", {}), **links}

    def write_settings(self, desired: DesiredFile, target: FileTarget, gone: Sequence[str]) -> Row:
        """Write the settings that differ."""
        entry = self._state.get_entry(desired.key)
        body = build_settings_body(desired, target.row, entry, self._ctx.now(), gone)
        if body:
            try:
                self._client.settings.write(target.uuid, body)
            except Refused as refusal:
                raise add_hint(refusal, body) from refusal
            after = self._client.files.show(target.uuid)
            for warning in (
                *describe_mismatches(after, body),
                *filter(None, [describe_ineffective_domains(body, after)]),
            ):
                self._ctx.warn(f"{desired.key}: {warning}")
            target.row = after
        entry["settings"] = sorted(set(entry.get("settings", [])) - set(gone))
        if desired.password:
            entry["password"] = hash_password(desired.password)
        elif body.get("password") == "":
            entry.pop("password", None)
        return {"uuid": target.uuid}

    def trash(self, key: str, uuid: str) -> Row:
        """Move a file that is no longer described to the trash."""
        with _ignore_missing():
            self._client.files.delete(uuid)
        del self._state.files[key]
        return {"uuid": uuid}

    # --- variants --------------------------------------------------------------------------------------------------

    def create_variant(self, desired: DesiredVariant, target: FileTarget, known: Sequence[str]) -> Row:
        """Create a link for a recipient. ``known``: UUIDs of the existing variants."""
        created = self._client.variants.create(target.uuid, desired.label, desired.overrides, known=known)
        self._state.get_entry(target.key).setdefault("variants", {})[desired.label] = created["uuid"]
        if desired.revoked:
            self._client.variants.update(target.uuid, str(created["uuid"]), {"revoked": True})
        return {"uuid": created["uuid"], **({"url": created["url"]} if "url" in created else {})}

    def update_variant(self, target: FileTarget, uuid: str, changes: Mapping[str, Any]) -> Row:
        """Update a variant."""
        self._client.variants.update(target.uuid, uuid, changes)
        return {"uuid": uuid}

    def delete_variant(self, key: str, file: str, label: str, uuid: str) -> Row:
        """Delete a variant that is no longer described."""
        with _ignore_missing():
            self._client.variants.delete(file, uuid)
        del self._state.get_entry(key)["variants"][label]
        return {"uuid": uuid}

    # --- webhooks --------------------------------------------------------------------------------------------------

    def create_webhook(
        self, desired: DesiredWebhook, target: FileTarget | None, known: Sequence[str], old: str | None
    ) -> Row:
        """Create a webhook and delete the ``old`` one that it replaces."""
        file = None if target is None else target.uuid
        make = partial(self._client.webhooks.create, desired.url, desired.events, desired.format, file, known=known)
        webhook = (
            make()["webhook"]
            if desired.secret_file is None
            else self._create_with_secret_file(make, desired.secret_file)
        )
        self._state.webhooks[desired.key] = str(webhook["uuid"])
        self._state.save()
        if old is not None:
            with _ignore_missing():
                self._client.webhooks.delete(old)
        return {
            "uuid": webhook["uuid"],
            **({} if desired.secret_file is None else {"secretFile": str(desired.secret_file)}),
        }

    def _create_with_secret_file(self, make: Callable[[], Row], path: Path) -> Row:
        """Create the webhook with ``make``, save its secret to ``path``, and return the webhook."""
        fresh = path.with_name(f".{path.name}.new")
        with suppress(OSError):
            fresh.unlink()
        with create_secret_file(fresh) as kept:
            answer = self._retry_for_secret(make)
            webhook: Row = answer["webhook"]
            try:
                kept.write(keep_secret(self._ctx, str(answer["secret"])))
                os.replace(fresh, path)
            except (OSError, Stop) as error:
                kept.is_written = False
                self._client.webhooks.delete(str(webhook["uuid"]))  # without the secret, nobody can verify it
                raise write_error(path, error) if isinstance(error, OSError) else error from error
        return webhook

    def _retry_for_secret(self, make: Callable[[], Row]) -> Row:
        """Return the response to a creation, including the secret."""
        for _ in range(_SECRET_ATTEMPTS):
            answer = make()
            if isinstance(answer.get("secret"), str):
                return answer
            self._client.webhooks.delete(str(answer["webhook"]["uuid"]))
        raise Stop(ExitCode.UNREACHABLE, "the response with the new webhook's secret was lost; the webhook was deleted")

    def delete_webhook(self, key: str, uuid: str) -> Row:
        """Delete a webhook that is no longer described."""
        with _ignore_missing():
            self._client.webhooks.delete(uuid)
        del self._state.webhooks[key]
        return {"uuid": uuid}


@contextmanager
def _ignore_missing() -> Iterator[None]:
    """Ignore a 404 on deletion: the first request may have succeeded although its response was lost."""
    try:
        yield
    except Refused as refusal:
        if refusal.status != 404:
            raise
