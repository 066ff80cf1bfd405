"""Bringing one document up to date under its fixed name: nothing to do, replaced in place, or uploaded."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from docshare.cli import progress
from docshare.cli.arguments import base_of
from docshare.cli.browse import checked_link
from docshare.cli.exits import ExitCode, Stop
from docshare.cli.manifest import Manifest
from docshare.cli.sources import Item, plan_of, within_plan
from docshare.cli.uploading import at_file_limit, reporter
from docshare.client.errors import ClientError, Refused
from docshare.contract.plans import Plan
from docshare.contract.problems import Problem
from docshare.contract.wire import parse_instant

if TYPE_CHECKING:
    from docshare.cli.context import Context
    from docshare.client import Client

Row = dict[str, Any]

_TRIES = 3  # against others who push the same name at the same time
_PAUSE = 1.0  # seconds
# The API does not say whose the slug is.
_TAKEN = (
    "Somebody else may have this slug, or a file of yours in the trash, which keeps its own: bring that back with "
    "docshare files restore FILE. A file deleted with docshare rm FILE --purge frees its slug at once."
)
_KEPT = ("uuid", "shortId", "shareUrl", "contentVersion")


class Pusher:
    """Pushes ``item``, whose SHA-256 is ``digest``. ``slug``: its name, or None; ``ledger``: the manifest that knows
    its file, or None; ``keep_anchors``: what is on the pages stays when the content is replaced."""

    def __init__(
        self,
        context: "Context",
        client: "Client",
        item: Item,
        digest: str,
        *,
        slug: str | None,
        ledger: Manifest | None,
        keep_anchors: bool,
    ) -> None:
        self._ctx = context
        self._client = client
        self._item = item
        self._digest = digest
        self._slug = slug
        self._ledger = ledger
        self._keep_anchors = keep_anchors

    def planned(self) -> tuple[str, str, str] | None:
        """Method, path and body of the request that ``run`` would begin with; None if there is nothing to send."""
        known = self._known()
        if known is None:
            return "POST", "/api/v1/files", f"file={self._item.name} ({self._item.size} bytes)"
        if self._is_current(known):
            return None
        return "POST", f"/api/v1/files/{known['uuid']}/content", f"file={self._item.name} ({self._item.size} bytes)"

    def run(self) -> Row:
        """Do what is left to do; returns ``status`` (``unchanged``, ``replaced``, ``created``), ``url`` and the file.

        Another push of the same name at the same time is waited for and joined, so that there is one file in the end.
        Raises Stop for an expired link (8) or a plan without slugs (6), and what the client raises.
        """
        for left in reversed(range(_TRIES)):
            known = self._known()
            try:
                row = self._created() if known is None else self._updated(known)
                break
            except Refused as refusal:
                # A slug that no file of this account has is somebody else's, or lies in the trash: waiting is no use.
                if refusal.code != "conflict" or not left:
                    raise
                if known is None and self._known() is None:
                    refusal.hint = _TAKEN
                    raise
                self._ctx.sleep(_PAUSE)
        if self._ledger is not None and row["status"] != "unchanged":
            self._ledger.add(row, self._ctx.now())
        return row

    def _known(self) -> Row | None:
        """The file that has the name, or that the manifest knows; None if there is none (any more)."""
        if self._slug is not None:
            named = next((file for file in self._client.files.list() if file.get("slug") == self._slug), None)
            if named is not None:
                return named
        entry = None if self._ledger is None else self._ledger.latest(self._item.path)
        if entry is None:
            return None
        try:
            return self._client.files.show(entry["uuid"])
        except Refused as refusal:
            if refusal.status != 404:
                raise
            return None

    def _is_current(self, known: Row) -> bool:
        """Whether the file already has these bytes. Of a document that the server converted only the manifest knows
        from which bytes, and only as long as nobody replaced them otherwise."""
        if "burnedAt" in known:
            return False  # its bytes are gone, or about to go
        if known.get("sha256") == self._digest:
            return True
        entry = None if self._ledger is None else self._ledger.latest(self._item.path)
        mine = {"uuid": known.get("uuid"), "contentVersion": known.get("contentVersion"), "sha256": self._digest}
        return entry is not None and all(entry.get(key) == value for key, value in mine.items())

    def _updated(self, known: Row) -> Row:
        expiry = parse_instant(str(known.get("deleteAt", "")))
        if expiry is not None and expiry <= self._ctx.now():
            raise Stop(
                ExitCode.GONE,
                f"the link of this document expired on {known['deleteAt']} and cannot be changed",
                hint=f"Delete it, then push again: docshare rm {known['uuid']} --purge",
                code="gone",
            )
        status, file = "unchanged", known
        if not self._is_current(known):
            status, file = "replaced", {**known, **self._sent(self._replace(known["uuid"]))}
        if self._slug is not None and known.get("slug") != self._slug:
            self._client.settings.write(known["uuid"], {"slug": self._slug})
        return self._row(status, file)

    def _created(self) -> Row:
        if self._slug is not None:
            self._require_pro()
        (item,) = within_plan(self._client, [self._item])
        if item.refusal is not None:
            raise item.refusal
        try:
            made = self._sent(lambda file, report: self._client.files.upload(file, item.name, progress=report))
        except Refused as refusal:
            refusal.at_file_limit = refusal.code == "forbidden" and at_file_limit(self._client)
            raise
        if self._slug is not None:
            try:
                self._client.settings.write(made["uuid"], {"slug": self._slug})
            except BaseException:
                self._discard(made["uuid"])  # without its name nobody would find it again
                raise
        return self._row("created", {"contentVersion": 1, **made})

    def _require_pro(self) -> None:
        """Stop (6) before anything is sent that could not get its name."""
        plan = plan_of(self._client)
        if plan is not None and plan < Plan.PRO:
            raise Stop(
                ExitCode.PLAN,
                f"a slug requires the pro plan, and this account has the {plan.tier} plan",
                hint="With --manifest F.jsonl instead of --slug the link is kept in a file; replacing needs Pro too.",
                code="plan_required",
            )

    def _replace(self, uuid: str) -> Callable[..., Row]:
        return lambda file, report: self._client.files.replace(
            uuid, file, self._item.name, keep_anchors=self._keep_anchors, progress=report
        )

    def _sent(self, send: Callable[..., Row]) -> Row:
        """The answer to the document, sent by ``send(file, report)``."""
        with progress.shown(self._ctx, self._item.name, self._item.size) as bar, self._item.open() as file:
            return send(file, reporter(bar, self._item.size))

    def _discard(self, uuid: str) -> None:
        try:
            self._client.files.delete(uuid, purge=True)
        except (Problem, ClientError):
            self._ctx.warn(f"an upload without its name stays behind; delete it: docshare rm {uuid} --purge")

    def _row(self, status: str, file: Mapping[str, Any]) -> Row:
        kept: Row = {key: file[key] for key in _KEPT if key in file}
        link = checked_link(file)
        url = link if self._slug is None else f"{base_of(link)}/{self._slug}"
        named = {} if self._slug is None else {"slug": self._slug}
        facts = {"path": self._item.path, "size": self._item.size, "sha256": self._digest}
        return {"status": status, "url": url, **kept, **named, **facts}
