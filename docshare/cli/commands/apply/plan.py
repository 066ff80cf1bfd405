"""Decide what ``docshare apply`` has to do, before anything is sent."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from docshare.cli.commands.apply.actions import Action, Executor, FileTarget
from docshare.cli.commands.apply.match import match_files
from docshare.cli.commands.apply.model import DesiredFile, DesiredState, DesiredVariant, DesiredWebhook
from docshare.cli.commands.apply.output import CREATE, DELETE, REPLACE, UPDATE
from docshare.cli.commands.apply.settings import NEW_FILE_SETTINGS, build_settings_body, resolve_end
from docshare.cli.commands.apply.state import ApplyState
from docshare.cli.commands.push.run import expired_error, has_expired, is_current
from docshare.cli.commands.settings.changes import find_needed_plans
from docshare.cli.commands.settings.stored import Difference, find_differences
from docshare.cli.framework.context import Context
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.contract.amounts import format_plural
from docshare.contract.plans import Plan
from docshare.contract.wire import parse_instant

if TYPE_CHECKING:
    from docshare.client import Client

Row = Mapping[str, Any]


class Reconciler:
    """Compares the desired files and webhooks with the account.

    ``prune``: remove what the state has and ``share.yaml`` has not; ``plan`` of the account, None if unknown.
    """

    def __init__(
        self,
        context: Context,
        client: "Client",
        desired_state: DesiredState,
        state: ApplyState,
        *,
        prune: bool,
        plan: Plan | None,
    ) -> None:
        self._ctx = context
        self._client = client
        self._desired = desired_state
        self._state = state
        self._prune = prune
        self._plan = plan
        self._doer = Executor(context, client, state)
        self._now = context.now()
        self._targets: dict[str, FileTarget] = {}
        self._links: dict[str, dict[str, str]] = {}  # UUIDs of existing variants, by label, by key
        self._hooks: dict[str, str] = {}  # UUIDs of existing webhooks
        self._reset_settings: dict[str, list[str]] = {}  # settings that are back at their defaults, by key
        self._obsolete_count = 0

    def list_actions(self) -> list[Action]:
        """Return all actions, creations before removals. Raise Stop (2, 3, 6, 8) if they cannot be carried out."""
        rows = self._client.files.list() if self._desired.files or self._state.files else []
        found = match_files(self._desired.files, rows, self._state)
        self._follow_renames(found)
        alive = [desired for desired in self._desired.files if not self._has_ended(desired, found.get(desired.key))]
        self._targets = {desired.key: FileTarget(desired.key, found.get(desired.key, {})) for desired in alive}
        variants = {desired.key: self._list_variants(desired) for desired in alive}
        made = [action for desired in alive for action in self._reconcile_file(desired, variants[desired.key])]
        hooks = self._client.webhooks.list() if self._desired.webhooks or self._state.webhooks else []
        kept = [self._match_webhook(desired, hooks) for desired in self._desired.webhooks]
        made += [
            action
            for desired, row in zip(self._desired.webhooks, kept, strict=True)
            for action in self._reconcile_webhook(desired, row, hooks)
        ]
        removed = [
            *self._prune_webhooks(hooks, {str(row["uuid"]) for row in kept if row is not None}),
            *(action for desired in alive for action in self._prune_variants(desired, variants[desired.key])),
            *self._prune_files({str(row.get("uuid")): row for row in rows}, {row["uuid"] for row in found.values()}),
        ]
        if self._obsolete_count and not self._prune:
            gone = format_plural(self._obsolete_count, "resource is", "resources are")
            self._ctx.note(f"{gone} no longer in share.yaml; --prune removes them")
        actions = [*made, *(removed if self._prune else [])]
        self._require_plan(actions)
        return actions

    def record_existing(self) -> None:
        """Record the existing resources in the state."""
        for desired in self._desired.files:
            target = self._targets.get(desired.key)
            if target is not None and target.row:
                self._doer.record_file(
                    desired, target, self._links.get(desired.key, {}), self._reset_settings.get(desired.key, [])
                )
        self._state.webhooks |= self._hooks

    def _follow_renames(self, found: Mapping[str, Row]) -> None:
        """Keep the state of a file whose key has changed."""
        described = {desired.key for desired in self._desired.files}
        old = {entry["uuid"]: key for key, entry in self._state.files.items() if key not in described}
        for key, row in found.items():
            if key not in self._state.files and row["uuid"] in old:
                self._state.files[key] = self._state.files.pop(old[row["uuid"]])

    # --- files -----------------------------------------------------------------------------------------------------

    def _has_ended(self, desired: DesiredFile, row: Row | None) -> bool:
        """Return whether the link has ended as intended, so that nothing is left to do. Raise Stop (8) if it ended
        early.
        """
        if row is not None and "burnedAt" in row:
            how = f"to reactivate it: docshare replace {row['uuid']} PATH"
            self._ctx.note(f"{desired.key}: skipped, because its view limit is used up ({how})")
            return True
        end = resolve_end(desired, row or {}, self._state.files.get(desired.key, {}), self._now)
        dead = row is not None and has_expired(row, self._now)
        if end is not None and end <= self._now and (row is None or dead):
            self._ctx.note(f"{desired.key}: skipped, because its link has expired as configured")
            return True
        if row is not None and dead:
            raise expired_error(row, f"{desired.key}: delete it, then apply again")
        return False

    def _reconcile_file(self, desired: DesiredFile, variants: Sequence[Row]) -> Iterator[Action]:
        target = self._targets[desired.key]
        entry = self._find_entry(target)
        row = target.row or NEW_FILE_SETTINGS
        if not target.row:
            yield self._build_content_action(CREATE, desired, partial(self._doer.upload, desired, target), None)
        elif not is_current(row, desired.digest, entry):
            run = partial(self._doer.replace, desired, target)
            yield self._build_content_action(
                REPLACE, desired, run, row.get("sha256"), is_risky=True, required_plans={Plan.PRO: ["a new version"]}
            )
        yield from self._reconcile_settings(desired, target, row, entry)
        for variant in desired.variants:
            yield from self._reconcile_variant(desired, variant, variants)

    def _reconcile_settings(
        self, desired: DesiredFile, target: FileTarget, row: Row, entry: Mapping[str, Any]
    ) -> Iterator[Action]:
        gone = self._find_obsolete_settings(desired, entry)
        try:
            body = build_settings_body(desired, row, entry, self._now, gone)
        except Stop as stop:
            raise Stop(stop.exit, f"{desired.key}: {stop.detail}", hint=stop.hint, code=stop.code) from None
        if not body:
            self._reset_settings[desired.key] = gone
            return
        if body.get("password") and row.get("protected") and "password" not in entry:
            self._ctx.note(f"{desired.key}: the password is set again, because servers do not reveal the current one")
        changes, risky = find_differences(row, body), self._is_ending_now(body)
        run = partial(self._doer.write_settings, desired, target, gone)
        yield Action(
            UPDATE,
            "settings",
            desired.key,
            run,
            desired.key,
            changes,
            is_risky=risky,
            required_plans=find_needed_plans(body),
        )

    def _find_entry(self, target: FileTarget) -> Mapping[str, Any]:
        """Return the state entry of an existing file."""
        entry = self._state.files.get(target.key, {})
        return entry if target.row and entry.get("uuid") == target.uuid else {}

    def _build_content_action(self, verb: str, desired: DesiredFile, run: Any, old: Any, **more: Any) -> Action:
        changes = [Difference("sha256", old, desired.digest)]
        return Action(verb, "file", desired.item.name, run, desired.key, changes, **more)

    def _is_ending_now(self, body: Mapping[str, Any]) -> bool:
        end = parse_instant(str(body.get("deleteAt", "")))
        return end is not None and end <= self._now

    def _find_obsolete_settings(self, desired: DesiredFile, entry: Mapping[str, Any]) -> list[str]:
        """Return the settings that an earlier run set and the file no longer names."""
        keys = set(desired.set_keys)
        blocks = {key.partition(".")[0] for key in keys}
        left = [str(key) for key in entry.get("settings", []) if key not in keys and key not in blocks]
        self._obsolete_count += len(left)
        return left if self._prune else []

    def _prune_files(self, by_uuid: Mapping[str, Row], taken: set[Any]) -> Iterator[Action]:
        described = {desired.key for desired in self._desired.files}
        for key, entry in self._state.files.items():
            row = by_uuid.get(entry["uuid"])
            if key in described or row is None or entry["uuid"] in taken:
                continue
            self._obsolete_count += 1
            run = partial(self._doer.trash, key, entry["uuid"])
            yield Action(DELETE, "file", str(row.get("originalName")), run, key, is_risky=True)

    # --- variants --------------------------------------------------------------------------------------------------

    def _list_variants(self, desired: DesiredFile) -> Sequence[Row]:
        """Return the variants of a file; empty if the YAML file does not mention variants."""
        target = self._targets[desired.key]
        asked = desired.variants or self._find_entry(target).get("variants")
        if not (target.row and asked) or (self._plan is not None and self._plan < Plan.PRO):
            return []
        return self._client.variants.list(target.uuid)

    def _reconcile_variant(
        self, file: DesiredFile, desired: DesiredVariant, variants: Sequence[Row]
    ) -> Iterator[Action]:
        target = self._targets[file.key]
        row = self._find_variant(file, desired, variants)
        if row is None:
            known = [str(each.get("uuid")) for each in variants]
            changes = [Difference(key, None, value) for key, value in desired.overrides.items()]
            changes += [Difference("revoked", False, True)] if desired.revoked else []
            run = partial(self._doer.create_variant, desired, target, known)
            yield Action(
                CREATE,
                "variant",
                desired.label,
                run,
                file.key,
                changes,
                required_plans={Plan.PRO: [f"variant {desired.label}"]},
            )
            return
        self._links.setdefault(file.key, {})[desired.label] = str(row["uuid"])
        if row.get("redacted"):
            self._ctx.warn(f"{file.key}: the label {desired.label!r} was redacted; remove it from the file")
            return
        if row.get("revoked") and desired.revoked is None:
            self._ctx.note(f"{file.key}: the link of {desired.label} stays revoked; revoked: false restores it")
        changes = list(_diff_variant(desired, row))
        if changes:
            sent = {change.key: change.new for change in changes}
            run = partial(self._doer.update_variant, target, str(row["uuid"]), sent)
            yield Action(UPDATE, "variant", desired.label, run, file.key, changes, is_risky=sent.get("revoked") is True)

    def _find_variant(self, file: DesiredFile, desired: DesiredVariant, variants: Sequence[Row]) -> Row | None:
        known = self._find_entry(self._targets[file.key]).get("variants", {}).get(desired.label)
        same = [row for row in variants if row.get("label") == desired.label]
        recorded = next((row for row in variants if row.get("uuid") == known), None)
        alive = [row for row in same if not row.get("revoked")]
        if recorded is None and len(alive) > 1:
            raise Stop(ExitCode.USAGE, f"{file.key}: {len(alive)} variants have the label {desired.label!r}")
        return recorded or next(iter((*alive, *same)), None)

    def _prune_variants(self, desired: DesiredFile, variants: Sequence[Row]) -> Iterator[Action]:
        described = {variant.label for variant in desired.variants}
        uuids = {str(row.get("uuid")) for row in variants}
        file = self._targets[desired.key].uuid
        for label, uuid in self._find_entry(self._targets[desired.key]).get("variants", {}).items():
            if label not in described and uuid in uuids:
                self._obsolete_count += 1
                run = partial(self._doer.delete_variant, desired.key, file, label, uuid)
                yield Action(DELETE, "variant", label, run, desired.key, is_risky=True)

    # --- webhooks --------------------------------------------------------------------------------------------------

    def _match_webhook(self, desired: DesiredWebhook, rows: Sequence[Row]) -> Row | None:
        """Return the existing webhook for ``desired``: the one in the state, else the most similar one."""
        target = None if desired.file is None else self._targets.get(desired.file)
        scope = "" if target is None else target.uuid
        if desired.file is not None and not scope:
            return None
        same = [
            row
            for row in rows
            if (row.get("url"), row.get("format"), row.get("fileUuid") or "") == (desired.url, desired.format, scope)
        ]
        known = self._state.webhooks.get(desired.key)
        ranked = sorted(same, key=lambda row: (row.get("uuid") != known, _list_kinds(row) != list(desired.events)))
        return ranked[0] if ranked else None

    def _reconcile_webhook(self, desired: DesiredWebhook, row: Row | None, rows: Sequence[Row]) -> Iterator[Action]:
        if desired.file is not None and desired.file not in self._targets:
            return  # its file has ended
        target = None if desired.file is None else self._targets[desired.file]
        known = [str(each.get("uuid")) for each in rows]
        if row is None:
            self._require_free_secret_file(desired)
            changes = [Difference("events", None, list(desired.events))]
            run = partial(self._doer.create_webhook, desired, target, known, None)
            yield Action(CREATE, "webhook", desired.url, run, desired.file or "", changes)
        elif _list_kinds(row) != list(desired.events):
            changes = [Difference("events", _list_kinds(row), list(desired.events))]
            run = partial(self._doer.create_webhook, desired, target, known, str(row["uuid"]))
            yield Action(REPLACE, "webhook", desired.url, run, desired.file or "", changes, is_risky=True)
        else:
            self._hooks[desired.key] = str(row["uuid"])
            self._report_webhook_state(desired, row)

    def _require_free_secret_file(self, desired: DesiredWebhook) -> None:
        """Raise Stop (2) if creating the webhook would overwrite a secret that may belong to another."""
        if desired.secret_file is not None and desired.secret_file.exists() and desired.key not in self._state.webhooks:
            hint = "It may hold the secret of another webhook: name a new file, or move this one."
            raise Stop(ExitCode.USAGE, f"{desired.secret_file} already exists", hint=hint, code="local_file")

    def _report_webhook_state(self, desired: DesiredWebhook, row: Row) -> None:
        if row.get("active") is False:
            self._ctx.warn(f"{desired.url} is disabled; enable it with: docshare webhooks enable {row['uuid']}")
        if desired.secret_file is not None and not desired.secret_file.exists():
            self._ctx.note(
                f"{desired.url} already exists; {desired.secret_file} is not written: a secret is shown only once"
            )

    def _prune_webhooks(self, rows: Sequence[Row], taken: set[str]) -> Iterator[Action]:
        described = {desired.key for desired in self._desired.webhooks}
        by_uuid = {str(row.get("uuid")): row for row in rows}
        for key, uuid in self._state.webhooks.items():
            if key not in described and uuid in by_uuid and uuid not in taken:
                self._obsolete_count += 1
                yield Action(
                    DELETE,
                    "webhook",
                    str(by_uuid[uuid].get("url")),
                    partial(self._doer.delete_webhook, key, uuid),
                    is_risky=True,
                )

    # --- the plan of the account -----------------------------------------------------------------------------------

    def _require_plan(self, actions: Sequence[Action]) -> None:
        """Raise Stop (6) if the account's plan is too low for some actions."""
        if self._plan is None:
            return
        lacking = [
            f"{action.file}: {', '.join(keys)} ({needed.tier})"
            for action in actions
            for needed, keys in action.required_plans.items()
            if needed > self._plan
        ]
        if lacking:
            raise Stop(
                ExitCode.PLAN,
                f"the {self._plan.tier} plan is too low for some changes; nothing was sent",
                hint=f"Needed: {'; '.join(lacking)}. Remove them, or upgrade.",
                code="plan_required",
            )


def _list_kinds(row: Mapping[str, Any]) -> list[str]:
    kinds = row.get("events")
    return sorted(map(str, kinds)) if isinstance(kinds, list) else []


def _diff_variant(desired: DesiredVariant, row: Mapping[str, Any]) -> Iterator[Difference]:
    if row.get("label") != desired.label:  # the state identifies it by UUID
        yield Difference("label", row.get("label"), desired.label)
    old = row.get("overrides") or {}
    if old != desired.overrides:
        yield Difference("overrides", old, desired.overrides)
    if desired.revoked is not None and bool(row.get("revoked")) != desired.revoked:
        yield Difference("revoked", bool(row.get("revoked")), desired.revoked)
