"""Import a PDF: fetch it from a host that the operator allows, and make it a file."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass

from docshare import __version__
from docshare.contract import media
from docshare.contract.plans import Plan
from docshare.contract.problems import Problem
from docshare.server.outbound.addresses import is_operator_allowed
from docshare.server.outbound.exchange import OutboundRequest, OutboundResponse
from docshare.server.outbound.failures import OutboundError, TooLarge
from docshare.server.outbound.targets import OutboundTarget
from docshare.server.pdf.budget import Tenant
from docshare.server.received_file import ReceivedFile
from docshare.server.rules import designs as design_rules
from docshare.server.rules import imports as rules
from docshare.server.rules import intake as intake_rules
from docshare.server.rules.designs import DesignFile
from docshare.server.rules.imports import ImportRequest
from docshare.server.runtime import Runtime
from docshare.server.services.accounts.callers import Caller, recheck_caller
from docshare.server.services.designs import designs, tokens
from docshare.server.services.designs.tokens import UserDesign
from docshare.server.services.files import intake, replace, sealed_blobs, tenants
from docshare.server.services.files.intake import StoredDocument
from docshare.server.services.operations import slots
from docshare.server.store.blobs import HEAD_BYTES, PartialFile

DEADLINE_S = 120.0
_SLOT_WAIT_S = 5.0  # a thread of the server waits, and most downloads take less
_HEADERS = {"User-Agent": f"docshare/{__version__}", "Accept": "application/pdf"}
_OK = 200


@dataclass(frozen=True)
class ImportedFile:
    """The imported file. ``palette``: the colors of its first page (``#rrggbb``, most dominant first), if known;
    ``is_republished``: whether the document replaced another one, None without a design."""

    uuid: str
    short_id: str
    content_version: int
    palette: list[str] | None
    is_republished: bool | None


@dataclass(frozen=True)
class SourceLimit:
    """The largest source in bytes, the ``plan`` whose limits apply to the PDF, and the error for a larger source."""

    max_bytes: int
    plan: Plan
    too_large: Callable[[], Problem]


def import_document(rt: Runtime, caller: Caller, body: Mapping[str, object]) -> ImportedFile:
    """Fetch the document that ``body`` names and make it a new file of ``caller``, or the next version of the file that
    shows the design whose tokens ``body`` contains.

    Raises ``bad_request`` (body, not a PDF, a PDF that cannot be used), ``forbidden`` (host, file slots, a file that
    does not accept updates), ``conflict`` (changed meanwhile), ``payload_too_large``, ``rate_limited`` (too many
    downloads are running), ``bad_gateway`` (the source) and ``unavailable``. On any of them nothing is stored.
    """
    order = parse_allowed_import(rt, body)
    design = tokens.find_proven_design(rt, order.user_token, order.design_token)
    bound = _find_bound_file(rt, caller, design)
    if bound is None:
        intake.admit(rt, caller, None)
    else:
        design_rules.require_updates_allowed(bound)
        intake.admit_size(rt, caller.plan, None)  # an import consumes no file slot
    limit = intake_rules.max_stored_size(caller.plan)
    ceiling = SourceLimit(limit, caller.plan, lambda: intake_rules.file_size_problem(caller.plan))
    document = fetch_document(rt, order, ceiling, tenants.account_tenant_key(caller.account_id))
    with document_transaction(rt, document, bound):
        caller = recheck_caller(rt, caller)
        intake_rules.require_size(caller.plan, document.size)
        require_unchanged(bound, _find_bound_file(rt, caller, design))
        file = replace_bound_document(rt, document, bound) if bound else _create_file(rt, caller, document, design)
    republished = None if design is None else bound is not None
    return ImportedFile(
        *file,
        rt.engine.palette(
            sealed_blobs.open_stored(rt, document.stored_blob),
            Tenant(tenants.account_tenant_key(caller.account_id), document.sha256),
        ),
        republished,
    )


FileReference = tuple[str, str, int]
"""UUID, short id and content version of a file whose document was just stored."""


def parse_allowed_import(
    rt: Runtime, body: Mapping[str, object], default_name: str = media.IMPORT_NAME
) -> ImportRequest:
    """Return the import that ``body`` requests, from an allowed host. Raises ``bad_request``, ``forbidden``."""
    order = rules.parse_import(body, default_name)
    rules.require_allowed_host(order.target, rt.config.import_hosts)
    return order


def fetch_document(rt: Runtime, order: ImportRequest, ceiling: SourceLimit, owner: str) -> StoredDocument:
    """Fetch, check and store the document of ``order``; the caller inserts its row. ``owner``: see
    ``intake.store_document``. Raises what ``import_document`` raises."""
    part = rt.blobs.create_partial()
    try:
        with slots.hold_slot(
            rt.outbound.transfer_slots,
            owner,
            "Too many documents are being imported.",
            wait_s=_SLOT_WAIT_S,
            code="rate_limited",
        ):
            _download(rt, ceiling, order.target, part)
        rules.require_pdf(part.head)
        return intake.store_document(rt, ceiling.plan, ReceivedFile(order.name, "", part), owner)
    except Problem as problem:
        if problem.code != "unprocessable":
            raise
        # 422 is for uploads and replacements; an import of an unusable document is a bad request.
        raise Problem("bad_request", problem.detail, hint=problem.hint) from problem
    finally:
        part.discard()


def document_transaction(
    rt: Runtime, document: StoredDocument, bound: DesignFile | None
) -> AbstractContextManager[None]:
    """Return the transaction that stores ``document`` as a new file, or as the next version of ``bound``."""
    if bound is None:
        return intake.blob_transaction(rt, document)
    return replace.replacement_transaction(rt, document, _replacement_target(bound))


def replace_bound_document(rt: Runtime, document: StoredDocument, bound: DesignFile) -> FileReference:
    """Replace the document of ``bound`` with ``document``, in the caller's transaction. Raises ``payload_too_large``.

    Anchors are deleted, which is the default of every replacement.
    """
    replaced = replace.store_next_version(rt, _replacement_target(bound), document, keep=False)
    return bound.uuid, bound.short_id, replaced.content_version


def require_unchanged(before: DesignFile | None, now: DesignFile | None) -> None:
    """Raise ``conflict`` if the link of the design changed while its document was fetched, and what
    ``require_updates_allowed`` raises."""
    if (before is None) != (now is None) or (before is not None and not before.is_same_content(now)):
        raise Problem("conflict", "The link of this design was changed while the server fetched the document.")
    if now is not None:
        design_rules.require_updates_allowed(now)


def _find_bound_file(rt: Runtime, caller: Caller, design: UserDesign | None) -> DesignFile | None:
    """Return the newest live file of the caller that shows ``design``, or None."""
    if design is None:
        return None
    now = rt.clock()
    return next((row for row in designs.list_by_owner(rt, caller.account_id, design.design) if row.is_live(now)), None)


def _create_file(rt: Runtime, caller: Caller, document: StoredDocument, design: UserDesign | None) -> FileReference:
    # Checked again inside the transaction: another import may have used the last slot, and the plan may have changed.
    intake.require_slot(rt, caller.account_id, caller.plan)
    now = rt.clock()
    row = intake.insert_file(rt, document, owner_id=caller.account_id, delete_at=None, now=now)
    if design is not None:
        designs.bind(rt, row.id, design, None, now)
    return row.uuid, row.short_id, row.content_version


def _replacement_target(bound: DesignFile) -> replace.ReplacementTarget:
    return replace.ReplacementTarget(bound.id, bound.uuid, bound.content_version, bound.blob, bound.delete_at)


def _download(rt: Runtime, ceiling: SourceLimit, target: OutboundTarget, part: PartialFile) -> None:
    """Write the response of ``target`` to ``part``."""
    request = OutboundRequest(target, headers=_HEADERS)
    try:
        with rt.outbound.exchange(request, is_operator_allowed, deadline_s=DEADLINE_S) as answer:
            if answer.status != _OK:
                raise OutboundError(f"answered with status {answer.status}")
            _receive(answer, ceiling.max_bytes, part)
    except TooLarge as error:
        raise ceiling.too_large() from error
    except OutboundError as error:
        raise Problem("bad_gateway", f"The source at {target.host_header} {error}.") from error
    except OSError as error:
        raise intake_rules.disk_space_problem() from error  # writing the part failed; network errors are OutboundError


def _receive(answer: OutboundResponse, most: int, part: PartialFile) -> None:
    for block in answer.read_blocks(most):
        judged = part.size >= HEAD_BYTES
        part.write(block)
        if not judged and part.size >= HEAD_BYTES:
            rules.require_pdf(part.head)  # do not download the rest of a file that is not a PDF
