"""Sharing without an account, where the operator allows it.

The file belongs to nobody: who holds the claim token can take it over, who holds the manage token can change its
settings. Its link ends after a week.
"""

from typing import NamedTuple

from docshare.contract import media
from docshare.contract.limits import ANONYMOUS_EXPIRY_MS
from docshare.contract.plans import MB, PLAN_LIMITS, Plan
from docshare.contract.problems import Problem
from docshare.server.http.multipart import ReceivedFile
from docshare.server.rules import intake as rules
from docshare.server.runtime import Runtime
from docshare.server.services.files import intake, tenants, tokens
from docshare.server.services.files.tokens import FileTokens
from docshare.server.store.tables import File


class AnonymousUpload(NamedTuple):
    """The new file, its tokens at the one moment they can be seen, the warning about its document, and what its
    conversion left out."""

    file: File
    tokens: FileTokens
    warning: str | None
    left_out: tuple[str, ...]


def admit(rt: Runtime, length: int | None) -> int:
    """Judge an upload by what is known before its bytes; ``length`` and the result as of ``intake.admit``.

    Raises ``not_found`` where nobody may upload without an account, ``payload_too_large``, ``unavailable``.
    """
    if not rt.config.anonymous_uploads:
        raise Problem("not_found", "There is no such route.")
    # An office document may be larger than the PDF that is made of it, as on every plan.
    largest = max(
        media.input_size_limit(kind, find_plan(rt)) if row.cap else max_bytes(rt)
        for kind, row in media.DOCUMENTS.items()
    )
    if length is not None and length > largest:
        raise too_large(rt)
    rules.require_disk_space(rt.blobs.free_bytes(), length or 0)
    return largest


def store_upload(rt: Runtime, received: ReceivedFile, address: str) -> AnonymousUpload:
    """Store a document uploaded from ``address`` as a file of nobody; its row and tokens are durable when this returns.

    Raises as ``admit`` and ``intake.store``.
    """
    admit(rt, received.part.size)
    if media.detect_document_type(received.part.head) == "pdf" and received.part.size > max_bytes(rt):
        raise too_large(rt)
    document = intake.store_document(rt, find_plan(rt), received, tenants.address_tenant_key(address))
    try:
        if document.size > max_bytes(rt):
            raise too_large(rt)
        with rt.db.write():
            row = intake.insert_file(rt, document, owner_id=None, delete_at=rt.clock() + ANONYMOUS_EXPIRY_MS)
            return AnonymousUpload(row, tokens.mint(rt, row.id), document.warning, document.left_out)
    except BaseException as error:
        intake.discard_blob(rt, document.blob, error)
        raise


def max_bytes(rt: Runtime) -> int:
    """How many bytes a file without an owner may have."""
    return rt.config.anonymous_limit


def find_plan(rt: Runtime) -> Plan:
    """The lowest plan that may store as much as the operator allows."""
    return next((plan for plan in Plan if PLAN_LIMITS[plan].stored_bytes >= max_bytes(rt)), Plan.PRO)


def too_large(rt: Runtime) -> Problem:
    """The refusal of more than ``limit``."""
    size = f"{max_bytes(rt) // MB} MB" if max_bytes(rt) >= MB else f"{max_bytes(rt)} bytes"
    hint = "Sign in to share larger files."
    return Problem("payload_too_large", f"Without an account a file may have {size}, and this one has more.", hint=hint)
