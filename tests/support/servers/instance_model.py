"""A model of files, variants, webhooks, claims and plans over time, compared with a real instance."""

import io
import itertools
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from hypothesis.stateful import RuleBasedStateMachine

from docshare.contract.wire import format_instant
from docshare.server.pdf.engine import PdfEngine
from tests.support.clock import FakeClock
from tests.support.documents.pdfs import simple_pdf
from tests.support.people.cast import close_world, make_runtime, make_world
from tests.support.people.gate_client import GateClient
from tests.support.people.webhooks import resolve_all_hosts

MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
SLOTS = {"free": 3, "basic": 100, "pro": 10**9}
CONTENTS = [simple_pdf(pages=pages) for pages in (1, 2, 3)]

step_counts: Counter[str] = Counter()
"""The number of ``runs`` and ``requests``."""


@dataclass
class ModelFile:
    """A document as the specification describes it; ``content`` is an index of ``CONTENTS``; times in milliseconds."""

    uuid: str
    short_id: str
    owner: str | None
    content: int
    version: int = 1
    delete_at: int | None = None
    burned_at: int | None = None
    destroyed: bool = False
    trashed_at: int | None = None
    purge_at: int | None = None
    is_purged: bool = False
    limit: int = 0
    consumed: int = 0
    allow_download: bool = True
    slug: str = ""
    claim_token: str = ""
    claim_until: int = 0
    downloads: int = 0
    """Its rows in the feed of the owner."""


@dataclass
class ModelVariant:
    file: ModelFile
    uuid: str
    short_id: str
    label: str
    revoked: bool = False
    redacted: bool = False
    deleted: bool = False
    allow_download: bool | None = None


@dataclass
class ModelWebhook:
    uuid: str
    owner: str
    scope: ModelFile | None
    events: list[tuple[str, str, int]] = field(default_factory=list)
    """Kind, UUID of the file and time of each delivery."""

    deleted: bool = False


class Model(RuleBasedStateMachine):
    """An instance and its model: the state of each file, variant and webhook by the specification."""

    engine: ClassVar[PdfEngine]

    def __init__(self) -> None:
        super().__init__()
        step_counts["runs"] += 1
        self.folder = tempfile.TemporaryDirectory(prefix="docshare-walk-", ignore_cleanup_errors=True)
        self.clock = FakeClock()
        runtime = make_runtime(
            Path(self.folder.name), self.clock, self.engine, rate_limit=1_000_000, anonymous_uploads=True
        )
        resolve_all_hosts(runtime)
        self.world = make_world(runtime, self.clock)
        self.plans = {"fay": "free", "bea": "basic", "pia": "pro", "mal": "pro"}
        self.files: list[ModelFile] = []
        self.variants: list[ModelVariant] = []
        self.hooks: list[ModelWebhook] = []
        self.addresses = (f"10.{n >> 16}.{n >> 8 & 255}.{n & 255}" for n in itertools.count(1))

    def teardown(self) -> None:
        for name in self.plans:
            self.compare_lists(name)
        for file in self.files:
            self.compare(file)
        close_world(self.world)
        self.folder.cleanup()

    # --- the model -----------------------------------------------------------------------------------------------

    def is_owned(self, who: str, file: ModelFile) -> bool:
        return file.owner == who and not file.is_purged and file.trashed_at is None

    def expected_status(self, file: ModelFile) -> int:
        """Return the status that visitors of a file's link get."""
        if file.is_purged or file.trashed_at is not None:
            return 404
        expired = file.delete_at is not None and file.delete_at <= self.clock.now
        return 410 if expired or file.burned_at is not None else 200

    def has_slot(self, who: str) -> bool:
        return sum(self.is_owned(who, file) for file in self.files) < SLOTS[self.plans[who]]

    def queue_event(self, event: str, file: ModelFile) -> None:
        for hook in self.hooks:
            if not hook.deleted and hook.owner == file.owner and hook.scope in (None, file):
                hook.events.append((event, file.uuid, self.clock.now))

    def destroy(self, file: ModelFile) -> None:
        file.is_purged, file.slug = True, ""
        for hook in self.hooks:
            hook.events = [row for row in hook.events if row[1] != file.uuid]
            hook.deleted |= hook.scope is file

    def sweep(self) -> None:
        now = self.clock.now
        for file in self.files:
            kept = file.destroyed or file.is_purged or file.burned_at is None
            if not kept and file.burned_at + 30 * MINUTE <= now:
                file.destroyed = True
                self.queue_event("file.burned", file)
            if file.purge_at is not None and file.purge_at <= now and not file.is_purged:
                self.destroy(file)
            if file.owner is None and file.delete_at is not None and file.delete_at + 7 * DAY <= now:
                self.destroy(file)

    @staticmethod
    def resolve_actor(who: str, owner: str | None) -> str:
        """Return the account of the actor ``who``; ``owner``: the owner of the file (None: nobody)."""
        return (owner or "pia") if who == "owner" else who

    # --- the door ------------------------------------------------------------------------------------------------

    def send_request(self, who: str, method: str, path: str, **more: Any) -> Any:
        step_counts["requests"] += 1
        person = getattr(self.world, who)
        return person.http.open(f"/api/v1{path}", method=method, headers=person.headers, buffered=True, **more)

    def make_gate_client(self, name: str) -> GateClient:
        return GateClient(self.world, name, address=next(self.addresses))

    def build_form(self, content: int) -> dict[str, Any]:
        return {"file": (io.BytesIO(CONTENTS[content]), "a.pdf")}

    def pick_file(self, at: int) -> ModelFile:
        return self.files[-1 - at % len(self.files)]

    def compare(self, file: ModelFile) -> None:
        """Compare all responses about ``file`` with the model."""
        for who in ("pia", "mal"):
            if not self.is_owned(who, file):
                self.expect(self.send_request(who, "GET", f"/files/{file.uuid}"), 404)
        looks = [(file.short_id, self.expected_status(file)), (file.uuid, self.expected_status(file))]
        if file.slug:
            looks.append((file.slug, self.expected_status(file)))
        for variant in self.variants:
            if variant.file is file:
                looks.append(
                    (variant.short_id, 404 if variant.revoked or variant.deleted else self.expected_status(file))
                )
        for name, status in looks:
            self.expect(self.make_gate_client(name).open_page(), status)
        if file.owner is None or not self.is_owned(file.owner, file):
            return
        shown = self.send_request(file.owner, "GET", f"/files/{file.uuid}").get_json()
        expected = {
            "uuid": file.uuid,
            "shortId": file.short_id,
            "contentVersion": file.version,
            "totalPages": file.content + 1,
            "viewsConsumed": file.consumed,
            "allowDownload": file.allow_download,
            "deleteAt": None if file.delete_at is None else format_instant(file.delete_at),
            "burnedAt": None if file.burned_at is None else format_instant(file.burned_at),
            "viewLimit": file.limit or None,
            "slug": file.slug or None,
        }
        assert {name: shown.get(name) for name in expected} == expected
        content = self.send_request(file.owner, "GET", f"/files/{file.uuid}/content")
        self.expect(content, 410 if file.burned_at is not None else 200)
        if content.status_code == 200:
            assert content.data == CONTENTS[file.content], "other bytes than were sent"

    def compare_lists(self, who: str) -> None:
        listed = [row["uuid"] for row in self.send_request(who, "GET", "/files").get_json()]
        mine = [file for file in self.files if self.is_owned(who, file)]
        assert sorted(listed) == sorted(file.uuid for file in mine)
        hooks = [row["uuid"] for row in self.send_request(who, "GET", "/webhooks").get_json()["webhooks"]]
        expected = [hook for hook in self.hooks if hook.owner == who and not hook.deleted]
        assert sorted(hooks) == sorted(hook.uuid for hook in expected)
        for hook in expected:
            rows = self.send_request(who, "GET", f"/webhooks/{hook.uuid}/deliveries?limit=100").get_json()
            rows = rows["deliveries"] if isinstance(rows, dict) else rows
            oldest = self.clock.now - 90 * DAY  # older rows may be deleted already
            kept = [event for event, _, at in hook.events if at > oldest]
            shown = [row["event"] for row in rows if row["createdAt"] > format_instant(oldest)]
            assert sorted(shown) == sorted(kept)
        feed = self.send_request(who, "GET", "/events?type=download&limit=100").get_json()[::-1]
        assert Counter(row["fileUuid"] for row in feed) == Counter({f.uuid: f.downloads for f in mine if f.downloads})
        assert [row["id"] for row in feed] == sorted({row["id"] for row in feed})

    @staticmethod
    def expect(answer: Any, *statuses: int) -> None:
        assert answer.status_code in statuses, f"{answer.status_code}, not {statuses}: {answer.text[:200]}"
