"""Create or update one document under its stable link: skip it, replace it in place, or upload it."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from docshare.cli.commands.browse import require_share_link
from docshare.cli.commands.upload.file_limit import is_at_file_limit
from docshare.cli.commands.upload.manifest import Entry, UploadManifest
from docshare.cli.commands.upload.new_version import make_progress_callback, warn_about_ranges
from docshare.cli.commands.upload.rows import print_warnings
from docshare.cli.framework.arguments import base_of
from docshare.cli.framework.context import Context
from docshare.cli.framework.dry_run import format_body
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.framework.sources import Item, check_plan_limits, fetch_plan
from docshare.cli.terminal import progress
from docshare.client.errors import ClientError, Refused
from docshare.contract.plans import Plan
from docshare.contract.problems import Problem
from docshare.contract.wire import parse_instant

if TYPE_CHECKING:
    from docshare.client import Client

Row = Mapping[str, Any]

_MAX_ATTEMPTS = 3  # in case another client pushes the same name at the same time
_RETRY_DELAY = 1.0  # seconds
# The API does not say who owns the slug.
_SLUG_CONFLICT_HINT = (
    "Another account may have this slug, or a file in your trash, which keeps its slug: restore that file with "
    "docshare files restore FILE. Deleting a file with docshare rm FILE --purge frees its slug at once."
)
_KEEP_ANCHORS_QUERY = "?clearAnchors=false"
_RESULT_KEYS = (
    "uuid", "shortId", "shareUrl", "contentVersion", "warning", "leftOut", "pageRangeEmpty", "emptyVariants",
)  # fmt: skip


def is_current(known: Mapping[str, Any], digest: str, entry: Mapping[str, Any] | None) -> bool:
    """Return whether the file ``known`` already holds the bytes of ``digest``.

    For a converted document, only the manifest ``entry`` knows the original bytes, and only while nobody else has
    replaced them.
    """
    if "burnedAt" in known:
        return False  # its content is deleted, or about to be
    if known.get("sha256") == digest:
        return True
    current = {"uuid": known.get("uuid"), "contentVersion": known.get("contentVersion"), "sha256": digest}
    return entry is not None and all(entry.get(key) == value for key, value in current.items())


def has_expired(known: Mapping[str, Any], now: int) -> bool:
    """Return whether the link of the file ``known`` has expired; ``now`` in milliseconds since 1970."""
    expiry = parse_instant(str(known.get("deleteAt", "")))
    return expiry is not None and expiry <= now


def expired_error(known: Mapping[str, Any], advice: str) -> Stop:
    """Return the error (8) for changing a file whose link has expired; ``advice`` introduces the delete command."""
    return Stop(
        ExitCode.GONE,
        f"the link of this document expired on {known['deleteAt']} and cannot be changed",
        hint=f"{advice}: docshare rm {known['uuid']} --purge",
        code="gone",
    )


def upload_with_progress(context: Context, client: "Client", item: Item) -> Row:
    """Upload ``item`` with a progress bar and return the result.

    Raise Stop (2) if it is too large for the plan. A Refused says whether the account is at its file limit.
    """
    (item,) = check_plan_limits(client, [item])
    if item.refusal is not None:
        raise item.refusal
    try:
        return _send(context, item, lambda file, report: client.files.upload(file, item.name, progress=report))
    except Refused as refusal:
        refusal.is_at_file_limit = refusal.code == "forbidden" and is_at_file_limit(client)
        raise
    except OSError as error:
        why = f"cannot read {item.path}: {error.strerror or error}"
        raise Stop(ExitCode.USAGE, why, code="local_file") from error


def _send(context: Context, item: Item, send: Callable[..., Row]) -> Row:
    """Open the document, return the response of ``send(file, report)``, and print the warnings in it."""
    with progress.show_progress(context, item.name, item.size) as bar, item.open() as file:
        row = send(file, make_progress_callback(bar, item.size, item.name))
    print_warnings(context, item.path, row)
    return row


class Pusher:
    """Pushes ``item``, whose SHA-256 is ``digest``.

    ``slug``: the custom link, or None; ``ledger``: the manifest that lists the file, or None; ``keep_anchors``: keep
    hotspots, notes, marks, and annotations when the content is replaced.
    """

    def __init__(
        self,
        context: Context,
        client: "Client",
        item: Item,
        digest: str,
        *,
        slug: str | None,
        ledger: UploadManifest | None,
        keep_anchors: bool,
    ) -> None:
        self._ctx = context
        self._client = client
        self._item = item
        self._digest = digest
        self._slug = slug
        self._manifest = ledger
        self._keep_anchors = keep_anchors

    def list_requests(self) -> list[tuple[str, str, str]]:
        """Return method, path and body of each request that ``run`` would send; none if nothing has changed."""
        known = self._find_file()
        path = f"/api/v1/files/{'{uuid}' if known is None else known['uuid']}"
        place = (
            "/api/v1/files" if known is None else f"{path}/content{_KEEP_ANCHORS_QUERY if self._keep_anchors else ''}"
        )
        requests = [("POST", place, f"file={self._item.name} ({self._item.size} bytes)")]
        if known is not None and is_current(known, self._digest, self._find_entry()):
            requests.clear()
        if self._slug is not None and (known is None or known.get("slug") != self._slug):
            requests.append(("PUT", f"{path}/settings", format_body({"slug": self._slug})))
        return requests

    def run(self) -> Row:
        """Push the document; return ``status`` (``unchanged``, ``replaced``, ``created``), ``url`` and the file.

        Wait for a concurrent push of the same name and reuse its file, so that only one file exists in the end.
        Raise Stop for an expired link (8) or a plan without slugs (6), and what the client raises.
        """
        for left in reversed(range(_MAX_ATTEMPTS)):
            known = self._find_file()
            try:
                row = self._create() if known is None else self._update(known)
                break
            except Refused as refusal:
                # A slug on none of this account's files is someone else's, or in the trash: waiting does not help.
                if refusal.code != "conflict" or not left:
                    raise
                if known is None and self._find_file() is None:
                    refusal.hint = _SLUG_CONFLICT_HINT
                    raise
                self._ctx.sleep(_RETRY_DELAY)
        if self._manifest is not None and row["status"] != "unchanged":
            self._manifest.add(row, self._ctx.now())
        return row

    def _find_file(self) -> Row | None:
        """Return the file with this slug or manifest entry, or None if there is none (anymore)."""
        if self._slug is not None:
            named = next((file for file in self._client.files.list() if file.get("slug") == self._slug), None)
            if named is not None:
                return named
        entry = self._find_entry()
        if entry is None:
            return None
        try:
            return self._client.files.show(entry["uuid"])
        except Refused as refusal:
            if refusal.status != 404:
                raise
            return None

    def _find_entry(self) -> Entry | None:
        return None if self._manifest is None else self._manifest.latest_entry(self._item.path)

    def _update(self, known: Row) -> Row:
        if has_expired(known, self._ctx.now()):
            raise expired_error(known, "Delete it, then push again")
        status, file = "unchanged", known
        if not is_current(known, self._digest, self._find_entry()):
            sent = _send(self._ctx, self._item, self._make_replacer(known["uuid"]))
            warn_about_ranges(self._ctx, sent, str(known["uuid"]))
            status, file = "replaced", {**known, **sent}
        if self._slug is not None and known.get("slug") != self._slug:
            self._client.settings.write(known["uuid"], {"slug": self._slug})
        return self._build_row(status, file)

    def _create(self) -> Row:
        if self._slug is not None:
            self._require_pro()
        uploaded = upload_with_progress(self._ctx, self._client, self._item)
        if self._slug is not None:
            try:
                self._client.settings.write(uploaded["uuid"], {"slug": self._slug})
            except BaseException:
                self._discard(uploaded["uuid"])  # without its slug, nobody would find it again
                raise
        return self._build_row("created", {"contentVersion": 1, **uploaded})

    def _require_pro(self) -> None:
        """Raise Stop (6) before an upload that could not get its slug."""
        plan = fetch_plan(self._client)
        if plan is not None and plan < Plan.PRO:
            raise Stop(
                ExitCode.PLAN,
                f"a slug requires the pro plan, and this account has the {plan.tier} plan",
                hint="Use --manifest F.jsonl instead of --slug. Replacing also requires the pro plan.",
                code="plan_required",
            )

    def _make_replacer(self, uuid: str) -> Callable[..., Row]:
        return lambda file, report: self._client.files.replace(
            uuid, file, self._item.name, keep_anchors=self._keep_anchors, progress=report
        )

    def _discard(self, uuid: str) -> None:
        try:
            self._client.files.delete(uuid, purge=True)
        except (Problem, ClientError):
            self._ctx.warn(f"an upload without its slug was left behind; delete it: docshare rm {uuid} --purge")

    def _build_row(self, status: str, file: Mapping[str, Any]) -> Row:
        kept: Row = {key: file[key] for key in _RESULT_KEYS if key in file}
        link = require_share_link(file)
        url = link if self._slug is None else f"{base_of(link)}/{self._slug}"
        named = {} if self._slug is None else {"slug": self._slug}
        facts = {"path": self._item.path, "size": self._item.size, "sha256": self._digest}
        return {"status": status, "url": url, **kept, **named, **facts}
