"""Random walks of accounts, files, variants, webhooks, claims and the clock, compared with an independent model.

``python -m tests.torture.model_walk [RUNS [STEPS]]``; by default 5,000 runs of 50 steps. Prints the shortest known walk
to a divergence and exits with 1.
"""

import sys
import time
import traceback
from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule, run_state_machine_as_test

from docshare.contract.plans import Plan
from docshare.contract.wire import format_instant
from docshare.server.pdf.engine import PdfEngine
from docshare.server.services.accounts import accounts
from docshare.server.services.operations import sweeps
from tests.support.servers.instance_model import (
    CONTENTS,
    DAY,
    HOUR,
    MINUTE,
    SLOTS,
    Model,
    ModelFile,
    ModelVariant,
    ModelWebhook,
    step_counts,
)

_TRASH_DAYS = {"basic": 7, "pro": 30}
_STEPS_OF_TIME = (1, 999, 1_000, MINUTE, 30 * MINUTE, HOUR, DAY, 7 * DAY, 30 * DAY, 90 * DAY)
_SETTINGS: dict[str, tuple[str, dict[str, Any]]] = {
    "one view": ("basic", {"viewLimit": 1}),
    "two views": ("basic", {"viewLimit": 2}),
    "any views": ("free", {"viewLimit": 0}),
    "past": ("free", {"deleteAt": -HOUR}),
    "soon": ("free", {"deleteAt": 5_000}),
    "next week": ("free", {"deleteAt": 7 * DAY}),
    "forever": ("free", {"neverExpire": True}),
    "no download": ("free", {"allowDownload": False}),
    "download": ("free", {"allowDownload": True}),
    "slug a": ("pro", {"slug": "link-a"}),
    "slug b": ("pro", {"slug": "link-b"}),
    "no slug": ("pro", {"slug": ""}),
}
"""Maps each name to the lowest plan and the body; ``deleteAt`` is relative to now, in milliseconds."""

_PEOPLE = st.sampled_from(["fay", "bea", "pia", "mal"])
_ACTORS = st.sampled_from([*["owner"] * 16, "fay", "bea", "pia", "mal"])
"""Mostly the owner of the file or webhook; otherwise most requests of a walk would be rejected."""
_INDEX = st.sampled_from([0, 0, 0, 1, 2, 3, 5])


class Walk(Model):
    """A state machine in which each rule sends one request and checks it against the response of the model."""

    @initialize(content=st.integers(0, 2))
    def begin(self, content: int) -> None:
        self.upload("pia", content)
        self.create_hook("pia", None)

    @rule(actor=_PEOPLE, content=st.integers(0, 2))
    def upload(self, actor: str, content: int) -> None:
        answer = self.send_request(actor, "POST", "/files", data=self.build_form(content))
        if not self.has_slot(actor):
            self.expect(answer, 403)
            return
        self.expect(answer, 200)
        created = answer.get_json()
        self.files.append(ModelFile(created["uuid"], created["shortId"], actor, content))

    @rule(content=st.integers(0, 2))
    def share_without_account(self, content: int) -> None:
        origin = {"REMOTE_ADDR": next(self.addresses)}
        answer = self.world.http.post("/api/files", data=self.build_form(content), environ_overrides=origin)
        self.expect(answer, 200)
        created, now = answer.get_json(), self.clock.now
        file = ModelFile(created["uuid"], created["shortId"], None, content, delete_at=now + 7 * DAY)
        file.claim_token, file.claim_until = created["claimToken"], now + 30 * DAY
        self.files.append(file)

    @precondition(lambda self: any(file.claim_token for file in self.files))
    @rule(actor=_PEOPLE, at=_INDEX)
    def claim(self, actor: str, at: int) -> None:
        shared = [file for file in self.files if file.claim_token]
        file = shared[-1 - at % len(shared)]
        answer = self.send_request(actor, "POST", "/files/claim", json={"claimToken": file.claim_token})
        if self.clock.now >= file.claim_until:
            self.expect(answer, 401)
        elif file.is_purged or file.trashed_at is not None:
            self.expect(answer, 404)
        elif file.owner is not None:
            self.expect(answer, 200 if file.owner == actor else 409)
        elif not self.has_slot(actor):
            self.expect(answer, 403)
        else:
            self.expect(answer, 200)
            file.owner = actor
        self.compare(file)

    @precondition(lambda self: self.files)
    @rule(actor=_ACTORS, at=_INDEX, purge=st.sampled_from([False, False, False, True]))
    def delete(self, actor: str, at: int, purge: bool) -> None:
        file, now = self.pick_file(at), self.clock.now
        actor = self.resolve_actor(actor, file.owner)
        answer = self.send_request(actor, "DELETE", f"/files/{file.uuid}{'?purge=1' if purge else ''}")
        if file.is_purged or file.owner is None or (file.owner != actor and file.trashed_at is not None):
            self.expect(answer, 404)
        elif file.owner != actor:
            self.expect(answer, 403)
        elif purge or (file.trashed_at is None and self.plans[actor] == "free"):
            self.expect(answer, 200)
            assert answer.get_json() == {"trashed": False}
            self.destroy(file)
        else:
            if file.trashed_at is None:
                file.trashed_at, file.purge_at = now, now + _TRASH_DAYS[self.plans[actor]] * DAY
            assert file.purge_at is not None
            dates = {"trashedAt": format_instant(file.trashed_at), "purgeAt": format_instant(file.purge_at)}
            assert answer.get_json() == {"trashed": True, **dates}
        self.compare(file)

    @precondition(lambda self: any(file.trashed_at is not None for file in self.files))
    @rule(actor=_ACTORS, at=_INDEX)
    def restore(self, actor: str, at: int) -> None:
        trashed = [file for file in self.files if file.trashed_at is not None]
        file = trashed[-1 - at % len(trashed)]
        actor = self.resolve_actor(actor, file.owner)
        answer = self.send_request(actor, "POST", f"/files/{file.short_id}/restore")
        if file.is_purged or file.owner != actor:
            self.expect(answer, 404)
        elif not self.has_slot(actor):
            self.expect(answer, 403)
        else:
            self.expect(answer, 200)
            file.trashed_at = file.purge_at = None
        self.compare(file)

    @precondition(lambda self: self.files)
    @rule(actor=_ACTORS, at=_INDEX, name=st.sampled_from(sorted(_SETTINGS)))
    def change_settings(self, actor: str, at: int, name: str) -> None:
        file, (plan, body) = self.pick_file(at), _SETTINGS[name]
        actor = self.resolve_actor(actor, file.owner)
        body = dict(body)
        if "deleteAt" in body:
            body["deleteAt"] = format_instant(self.clock.now + body["deleteAt"])
        answer = self.send_request(actor, "PUT", f"/files/{file.uuid}/settings", json=body)
        allowed = Plan.from_tier(self.plans[actor]) >= Plan.from_tier(plan) or body == {"slug": ""}
        is_slug_taken = any(other.slug == body.get("slug") for other in self.files if other is not file and other.slug)
        if not self.is_owned(actor, file):
            self.expect(answer, 404)
        elif self.expected_status(file) == 410:
            self.expect(answer, 410)
        elif not allowed:
            self.expect(answer, 403)
        elif is_slug_taken:
            self.expect(answer, 409)
        else:
            self.expect(answer, 200)
            self._apply(file, name, body)
        self.compare(file)

    def _apply(self, file: ModelFile, name: str, body: dict[str, Any]) -> None:
        if "viewLimit" in body:
            file.limit, file.consumed = body["viewLimit"], 0
        if "deleteAt" in body:
            file.delete_at = self.clock.now + _SETTINGS[name][1]["deleteAt"]
        if "neverExpire" in body:
            file.delete_at = None
        file.allow_download = body.get("allowDownload", file.allow_download)
        file.slug = body.get("slug", file.slug)

    @precondition(lambda self: self.files)
    @rule(actor=_ACTORS, at=_INDEX, content=st.integers(0, 2))
    def replace(self, actor: str, at: int, content: int) -> None:
        file = self.pick_file(at)
        actor = self.resolve_actor(actor, file.owner)
        answer = self.send_request(actor, "POST", f"/files/{file.uuid}/content", data=self.build_form(content))
        if file.is_purged or file.owner is None or file.trashed_at is not None:
            self.expect(answer, 404)
        elif file.owner != actor or self.plans[actor] != "pro":
            self.expect(answer, 403)
        elif file.delete_at is not None and file.delete_at <= self.clock.now:
            self.expect(answer, 410)
        else:
            self.expect(answer, 200)
            file.version, file.content = file.version + 1, content
            if file.burned_at is not None:
                file.burned_at, file.destroyed, file.consumed = None, False, 0
            self.queue_event("content.replaced", file)
            assert answer.get_json()["contentVersion"] == file.version
        self.compare(file)

    @precondition(lambda self: self.files)
    @rule(at=_INDEX, through=st.integers(0, 3))
    def open_link(self, at: int, through: int) -> None:
        file = self.pick_file(at)
        names = [(file.short_id, True), (file.uuid, True)]
        names += [(v.short_id, not (v.revoked or v.deleted)) for v in self.variants if v.file is file]
        name, works = names[through % len(names)]
        entered = self.make_gate_client(name).enter() if works and self.expected_status(file) == 200 else False
        assert entered == (works and self.expected_status(file) == 200)
        if entered and file.limit:
            file.consumed += 1
            if file.consumed == file.limit:
                file.burned_at = self.clock.now
        self.compare(file)

    @precondition(lambda self: self.files)
    @rule(at=_INDEX, through=st.integers(0, 3))
    def download(self, at: int, through: int) -> None:
        file = self.pick_file(at)
        links: list[ModelVariant | None] = [None, *(v for v in self.variants if v.file is file)]
        variant = links[through % len(links)]
        if file.limit and self.expected_status(file) == 200:
            return  # a link with a view limit requires a gate first
        guest = self.make_gate_client(variant.short_id if variant else file.short_id)
        answer = guest.post(f"{guest.path}/download")
        allowed, state = file.allow_download, self.expected_status(file)
        if variant:
            allowed = allowed if variant.allow_download is None else variant.allow_download
            state = 404 if variant.revoked or variant.deleted else state
        if state == 200 and not allowed:
            self.expect(answer, 403)
        else:
            self.expect(answer, state)
        if answer.status_code == 200:
            assert answer.data == CONTENTS[file.content]
            file.downloads += file.owner is not None

    @precondition(lambda self: self.files)
    @rule(actor=_ACTORS, at=_INDEX, overrides=st.sampled_from([{}, {"allowDownload": True}, {"allowDownload": False}]))
    def create_variant(self, actor: str, at: int, overrides: dict[str, Any]) -> None:
        file = self.pick_file(at)
        actor = self.resolve_actor(actor, file.owner)
        body = {"label": "Ann", "overrides": overrides}
        answer = self.send_request(actor, "POST", f"/files/{file.uuid}/variants", json=body)
        if self.plans[actor] != "pro":
            self.expect(answer, 403)
        elif not self.is_owned(actor, file):
            self.expect(answer, 404)
        else:
            self.expect(answer, 201)
            row = answer.get_json()
            created = ModelVariant(file, row["uuid"], row["shortId"], "Ann")
            created.allow_download = overrides.get("allowDownload")
            self.variants.append(created)
        self.compare(file)

    @precondition(lambda self: self.variants)
    @rule(actor=_ACTORS, at=_INDEX, act=st.sampled_from(["revoke", "allow", "label", "delete", "redact"]))
    def change_variant(self, actor: str, at: int, act: str) -> None:
        variant = self.variants[-1 - at % len(self.variants)]
        actor = self.resolve_actor(actor, variant.file.owner)
        path = f"/files/{variant.file.uuid}/variants/{variant.uuid}"
        is_known = self.is_owned(actor, variant.file) and not variant.deleted
        if act in ("delete", "redact"):
            answer = self.send_request(actor, "DELETE", path + ("?redact=1" if act == "redact" else ""))
            self.expect(answer, 204 if is_known else 404)
            variant.deleted |= is_known and act == "delete"
            if is_known and act == "redact":
                variant.redacted, variant.label = True, ""
        else:
            bodies: dict[str, dict[str, Any]]
            bodies = {"revoke": {"revoked": True}, "allow": {"revoked": False}, "label": {"label": "Bob"}}
            answer = self.send_request(actor, "PUT", path, json=bodies[act])
            is_rejected = act == "label" and variant.redacted
            self.expect(answer, (409 if is_rejected else 200) if is_known else 404)
            if answer.status_code == 200:
                variant.revoked = bodies[act].get("revoked", variant.revoked)
                variant.label = bodies[act].get("label", variant.label)
                row = answer.get_json()
                state = (row["revoked"], row["redacted"], row.get("label", ""))
                assert state == (variant.revoked, variant.redacted, variant.label)
        self.compare(variant.file)

    @rule(actor=_PEOPLE, at=st.none() | _INDEX)
    def create_hook(self, actor: str, at: int | None) -> None:
        scope = self.pick_file(at) if at is not None and self.files else None
        body: dict[str, Any] = {"url": "https://hook.example/in", "events": ["content.replaced", "file.burned"]}
        answer = self.send_request(actor, "POST", "/webhooks", json=body | ({"fileUuid": scope.uuid} if scope else {}))
        mine = sum(hook.owner == actor and not hook.deleted for hook in self.hooks)
        if scope and not self.is_owned(actor, scope):
            self.expect(answer, 404)
        elif mine >= 25:
            self.expect(answer, 400)
        else:
            self.expect(answer, 201)
            self.hooks.append(ModelWebhook(answer.get_json()["webhook"]["uuid"], actor, scope))

    @precondition(lambda self: self.hooks)
    @rule(actor=_ACTORS, at=_INDEX)
    def delete_hook(self, actor: str, at: int) -> None:
        hook = self.hooks[-1 - at % len(self.hooks)]
        actor = self.resolve_actor(actor, hook.owner)
        is_known = hook.owner == actor and not hook.deleted
        self.expect(self.send_request(actor, "DELETE", f"/webhooks/{hook.uuid}"), 204 if is_known else 404)
        hook.deleted |= is_known

    @rule(actor=_PEOPLE, plan=st.sampled_from(sorted(SLOTS)))
    def change_plan(self, actor: str, plan: str) -> None:
        accounts.set_tier(self.world.rt, getattr(self.world, actor).email, Plan.from_tier(plan))
        self.plans[actor] = plan

    @rule(step=st.sampled_from(_STEPS_OF_TIME), actor=_PEOPLE)
    def wait(self, step: int, actor: str) -> None:
        self.clock.now += step
        sweeps.run_all(self.world.rt)
        self.sweep()
        self.compare_lists(actor)


def run_walks(engine: PdfEngine, runs: int, steps: int, *, derandomize: bool) -> None:
    """Run ``runs`` walks of at most ``steps`` steps. Raises AssertionError on a divergence."""
    Walk.engine = engine
    options = settings(
        max_examples=runs,
        stateful_step_count=steps,
        derandomize=derandomize,
        database=None,
        report_multiple_bugs=False,
        deadline=None,
        phases=(Phase.generate,) if derandomize else (Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(Walk, settings=options)


def main(runs: int = 5_000, steps: int = 50) -> int:
    """Run the walks, print the results, and return the exit code."""
    engine, began = PdfEngine(workers=1), time.monotonic()
    try:
        run_walks(engine, runs, steps, derandomize=False)
    except AssertionError as divergence:
        traceback.print_exception(divergence, limit=-3, file=sys.stdout)  # its notes contain the walk
        return 1
    finally:
        engine.close()
        print(
            f"{step_counts['runs']} runs of {steps} steps, {step_counts['requests']} requests, "
            f"{time.monotonic() - began:.0f} s"
        )
    print("0 divergences")
    return 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
