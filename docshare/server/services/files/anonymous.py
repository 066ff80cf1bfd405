"""Share files without an account, where the operator allows it.

The file has no owner: the claim token makes an account its owner, and the manage token gives access to its settings.
Its link expires after a week.
"""

from dataclasses import dataclass

from docshare.contract import media
from docshare.contract.amounts import format_size
from docshare.contract.limits import ANONYMOUS_EXPIRY_MS
from docshare.contract.plans import PLAN_LIMITS, Plan
from docshare.contract.problems import Problem
from docshare.server.received_file import ReceivedFile
from docshare.server.rules import intake as rules
from docshare.server.runtime import Runtime
from docshare.server.services.files import intake, tenants, tokens
from docshare.server.services.files.tokens import FileTokens
from docshare.server.store.tables.files import File


@dataclass(frozen=True)
class AnonymousUpload:
    """A new file, the only copy of its tokens, the warning about its document, and the addresses of linked pictures
    that its conversion left out."""

    file: File
    tokens: FileTokens
    warning: str | None
    left_out: tuple[str, ...]


def admit(rt: Runtime, length: int | None) -> int:
    """Check an upload before its bytes arrive; ``length`` and the result are those of ``intake.admit``.

    Raises ``not_found`` if uploads without an account are disabled, ``payload_too_large``, ``unavailable``.
    """
    if not rt.config.anonymous_uploads:
        raise Problem("not_found", "There is no such route.")
    # An office document may be larger than the PDF that it is converted to, as on every plan.
    largest = max(
        media.input_size_limit(kind, find_plan(rt)) if row.cap else max_bytes(rt)
        for kind, row in media.DOCUMENTS.items()
    )
    if length is not None and length > largest:
        raise too_large(rt)
    rules.require_disk_space(rt.blobs.free_bytes(), length or 0)
    return largest


def store_upload(rt: Runtime, received: ReceivedFile, address: str) -> AnonymousUpload:
    """Store a document uploaded from ``address`` as a file without an owner; its row and tokens are durable on return.

    Raises what ``admit`` and ``intake.store_document`` raise.
    """
    admit(rt, received.part.size)
    if media.detect_document_type(received.part.head) == "pdf" and received.part.size > max_bytes(rt):
        raise too_large(rt)
    sender = tenants.address_tenant_key(address)
    document = intake.store_document(rt, find_plan(rt), received, sender, sender=sender)
    with intake.blob_transaction(rt, document):
        if document.size > max_bytes(rt):  # an office document whose PDF is larger
            raise too_large(rt)
        now = rt.clock()
        row = intake.insert_file(rt, document, owner_id=None, delete_at=now + ANONYMOUS_EXPIRY_MS, now=now)
        return AnonymousUpload(row, tokens.mint(rt, row.id, now), document.warning, document.left_out)


def max_bytes(rt: Runtime) -> int:
    """Return the size limit in bytes of a file without an owner."""
    return rt.config.anonymous_limit


def find_plan(rt: Runtime) -> Plan:
    """Return the lowest plan that may store as much as the operator allows."""
    return next((plan for plan in Plan if PLAN_LIMITS[plan].stored_bytes >= max_bytes(rt)), Plan.PRO)


def too_large(rt: Runtime) -> Problem:
    """Build the error for a file above the limit."""
    hint = "Sign in to share larger files."
    detail = f"The file is larger than {format_size(max_bytes(rt))}, the limit without an account."
    return Problem("payload_too_large", detail, hint=hint)
