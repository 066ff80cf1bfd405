"""Decide what ``docshare variants create`` has to do for each recipient, before anything is sent."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from docshare.cli.commands.variants.recipients import PICTURE_COLUMN, RecipientRow, RecipientSheet, reject_bad_rows
from docshare.cli.commands.variants.result_file import Result
from docshare.cli.framework.context import Context
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.contract.amounts import format_plural
from docshare.contract.limits import VARIANTS_PER_FILE

if TYPE_CHECKING:
    from docshare.client import Client

Row = Mapping[str, Any]

# Values of the column "status": not created or possibly created; no link; link exists.
PENDING, SENDING = "pending", "sending"
NO_ROOM, DUPLICATE, FAILED = "no room", "duplicate", "failed"
CREATED, RECOVERED, EXISTS = "created", "recovered", "exists"


@dataclass
class RecipientLink:
    """One link, wanted or created: its ``status``, its ``variant`` if it exists, ``error`` and ``picture`` (a path).

    ``error_json`` is the error for ``--json``; ``is_from_earlier_run``: an earlier run created the link.
    """

    recipient: RecipientRow
    status: str = PENDING
    variant: Row | None = None
    error: str = ""
    picture: str = ""
    error_json: Row = field(default_factory=dict)
    is_from_earlier_run: bool = False

    @property
    def is_wanted(self) -> bool:
        """Return whether the link still has to be created."""
        return self.status in (PENDING, SENDING)

    def result(self) -> Result:
        """Return its columns in the result file."""
        link = {key: str((self.variant or {}).get(key, "")) for key in ("uuid", "shortId", "url")}
        return {**link, "status": self.status, "error": self.error, PICTURE_COLUMN: self.picture}


def is_outcome_unknown(before: Mapping[str, Result], existing: Sequence[Row]) -> bool:
    """Return whether an earlier run ended while creating a link that does not exist (yet): its request may be
    pending.
    """
    labels = {row.get("label") for row in existing}
    return any(result["status"] == SENDING and label not in labels for label, result in before.items())


@dataclass(frozen=True)
class LinkOptions:
    """How to handle conflicts: ``--skip-duplicates`` and ``--partial``.

    ``source`` is the name in messages; ``has_options``: the command has these two options, so hints may name them.
    """

    skip_duplicates: bool
    allow_partial: bool
    source: str
    has_options: bool = True


def resolve_links(
    context: Context,
    sheet: RecipientSheet,
    before: Mapping[str, Result],
    existing: Sequence[Row],
    options: LinkOptions,
) -> list[RecipientLink]:
    """Return the links for ``sheet``, in its order: done, taken over, skipped, or wanted.

    Parameters:
        before: the result file of an earlier run, by label. A row with a UUID is done. A row without one may have been
            created while its response was lost: a variant with its label and overrides is taken for it, because none
            existed when that run began.
        existing: the Variant objects of the file, newest first.

    Raise Stop (2), after printing each reason, for rows whose label is taken, and for more rows than a file may have.
    """
    links = _LinkResolver(before, existing, skip=options.skip_duplicates).resolve(sheet)
    bad = [(link.recipient, link.error) for link in links if link.error]
    hint = "Use --skip-duplicates to skip such rows." if options.has_options else ""
    reject_bad_rows(context, bad, options.source, hint=hint)
    _require_same_file(before, existing, options.source)
    _limit_links(links, len(existing), options)
    return links


_LIMIT_HINT = "Revoked variants count; deleted ones do not."


class _LinkResolver:
    def __init__(self, before: Mapping[str, Result], existing: Sequence[Row], *, skip: bool) -> None:
        self._before = before
        self._skip = skip
        self._by_uuid = {str(row.get("uuid")): row for row in existing}
        taken = {result["uuid"] for result in before.values()}
        self._by_label: defaultdict[str, list[Row]] = defaultdict(list)
        for row in existing:
            if row.get("label") and row.get("uuid") not in taken:
                self._by_label[row["label"]].append(row)
        self._seen: dict[str, int] = {}

    def resolve(self, sheet: RecipientSheet) -> list[RecipientLink]:
        return [self._resolve_recipient(recipient) for recipient in sheet.recipients]

    def _resolve_recipient(self, recipient: RecipientRow) -> RecipientLink:
        first = self._seen.setdefault(recipient.label, recipient.row)
        if first != recipient.row:
            why = f"row {first} already has this label"
            return RecipientLink(recipient, DUPLICATE) if self._skip else RecipientLink(recipient, error=why)
        before = self._before.get(recipient.label)
        if before is not None and before["uuid"]:
            return self._reuse_result(recipient, before)
        same = self._by_label[recipient.label]
        if before is not None and len(same) == 1 and (same[0].get("overrides") or {}) == recipient.overrides:
            return RecipientLink(recipient, RECOVERED, same[0])
        if not same:
            return RecipientLink(recipient)
        if self._skip:
            alive = [row for row in same if not row.get("revoked")]
            return RecipientLink(recipient, EXISTS, (alive or same)[0])
        return RecipientLink(recipient, error="a variant with this label already exists")

    def _reuse_result(self, recipient: RecipientRow, before: Result) -> RecipientLink:
        link = {key: before[key] for key in ("uuid", "shortId", "url")}
        # A variant deleted since then stays as recorded: someone removed the link on purpose.
        variant = self._by_uuid.get(before["uuid"], {**link, "label": recipient.label})
        return RecipientLink(
            recipient, before["status"] or CREATED, variant, picture=before[PICTURE_COLUMN], is_from_earlier_run=True
        )


def _require_same_file(before: Mapping[str, Result], existing: Sequence[Row], source: str) -> None:
    """Raise Stop (2) if the result file belongs to another file, whose recipients would get no link to this one."""
    done = {result["uuid"] for result in before.values() if result["uuid"]}
    if done and not done & {str(row.get("uuid")) for row in existing}:
        raise Stop(
            ExitCode.USAGE,
            f"the result file for {source} belongs to another file: this file has none of its {len(done)} variants",
            hint="Name another file with --out.",
        )


def _limit_links(links: Sequence[RecipientLink], existing: int, options: LinkOptions) -> None:
    wanted = [link for link in links if link.is_wanted]
    room = max(VARIANTS_PER_FILE - existing, 0)
    if len(wanted) <= room:
        return
    if not options.allow_partial:
        raise Stop(
            ExitCode.USAGE,
            f"the file has {existing} variants and {len(wanted)} would be added; the limit is {VARIANTS_PER_FILE}; "
            "nothing was created",
            hint=f"--partial creates the first {room}. {_LIMIT_HINT}" if options.has_options else _LIMIT_HINT,
        )
    for link in wanted[room:]:
        link.status = NO_ROOM


def check_page_ranges(ctx: Context, client: "Client", name: str, links: Sequence[RecipientLink], source: str) -> None:
    """Raise Stop (2) for page ranges beyond the last page; fetch the file only if there are ranges."""
    wanted = [link.recipient for link in links if link.is_wanted]
    ends = [(each, each.overrides.get("pageRange", {"to": 0})["to"]) for each in wanted]
    if not any(end for _, end in ends):
        return
    total = client.files.show(name).get("totalPages")
    if isinstance(total, int):
        why = f"the document has {format_plural(total, 'page')}"
        reject_bad_rows(ctx, [(each, f"pages end at {end} and {why}") for each, end in ends if end > total], source)
