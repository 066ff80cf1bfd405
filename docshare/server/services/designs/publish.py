"""Publish designs of design-tool users who do not have an account, and report their status.

Publishing a design again replaces the document of its link, until somebody claims the file.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from docshare.contract import fields, media
from docshare.contract.limits import DESIGN_EXPIRY_MS
from docshare.contract.problems import Problem
from docshare.contract.scopes import BEARER, FILES_READ
from docshare.server.pdf.budget import Tenant
from docshare.server.rules import designs as rules
from docshare.server.rules import imports as import_rules
from docshare.server.rules import intake as intake_rules
from docshare.server.rules.designs import DesignFile
from docshare.server.runtime import Runtime
from docshare.server.services.accounts.callers import Caller, authenticate, invalid_credential
from docshare.server.services.designs import designs
from docshare.server.services.designs import tokens as design_tokens
from docshare.server.services.designs.tokens import UserDesign
from docshare.server.services.files import anonymous, imports, intake, sealed_blobs, tokens
from docshare.server.services.files.imports import FileReference, ImportedFile, SourceLimit
from docshare.server.services.files.intake import StoredDocument
from docshare.server.services.files.tokens import FileTokens


@dataclass(frozen=True)
class PublishedDesign:
    """The shared design, and the only copy of its tokens."""

    file: ImportedFile
    tokens: FileTokens


@dataclass(frozen=True)
class DesignStatus:
    """The status of a design for the design tool.

    ``link``: the file that shows it, None if its user has not shared it; ``is_owner``: whether that belongs to the
    account whose token was sent, None without a token; ``is_shared_by_other``: whether another user's live link shows
    it too; ``is_disclosed``: whether to disclose UUID and views; ``claim_token``: a new one for a live link that was
    not claimed, or None.
    """

    link: DesignFile | None
    is_owner: bool | None
    is_shared_by_other: bool
    is_disclosed: bool
    claim_token: str | None


def publish(rt: Runtime, caller: Caller, body: Mapping[str, object]) -> PublishedDesign:
    """Fetch the document that ``body`` names and share it for the design-tool user ``caller``: under the link of its
    design if that exists, otherwise under a new one that expires after 365 days.

    Raises ``bad_request``, ``forbidden`` (host; a link that is frozen, belongs to an account, or takes no updates),
    ``conflict`` (changed meanwhile), ``payload_too_large`` (above the anonymous limit), ``rate_limited`` (the
    daily quota), ``bad_gateway`` and ``unavailable``. On any of them nothing is stored.
    """
    user = caller.design_user
    order = imports.parse_allowed_import(rt, body, media.DESIGN_IMPORT_NAME)
    found = design_tokens.find_design(rt, order.design_token)
    design = None if found is None else UserDesign(user, found)
    bound = _find_open_link(rt, design, rt.clock())
    if bound is None:
        designs.require_daily_quota(rt, user)
    intake_rules.require_disk_space(rt.blobs.free_bytes(), 0)
    ceiling = SourceLimit(anonymous.max_bytes(rt), anonymous.find_plan(rt), lambda: anonymous.too_large(rt))
    document = imports.fetch_document(rt, order, ceiling, f"design user {user}")
    with imports.document_transaction(rt, document, bound):
        now = rt.clock()  # fetching the document took a while
        imports.require_unchanged(bound, _find_open_link(rt, design, now))
        if bound:
            file_id, file = _republish(rt, document, bound, now)
        else:
            file_id, file = _publish_new(rt, user, document, design, now)
        minted = tokens.mint(rt, file_id, now)
    palette = rt.engine.palette(
        sealed_blobs.open_stored(rt, document.stored_blob), Tenant(f"design user {user}", document.sha256)
    )
    return PublishedDesign(ImportedFile(*file, palette, bound is not None), minted)


def find_status(rt: Runtime, caller: Caller, body: Mapping[str, object]) -> DesignStatus:
    """Return the status of a design that ``caller``, a user of the design tool, has shared.

    Raises ``bad_request`` (no design token), ``unauthorized`` (a bad design token or access token), ``unavailable``.
    """
    token = import_rules.read_text(body, "designToken")
    if not token:
        raise fields.field_problem("designToken", "the token of a design")
    design = UserDesign(caller.design_user, design_tokens.verify_design(rt, token))
    account = _authenticate_account(rt, body)
    with rt.db.write():  # so that the file is not claimed before its claim token is created
        now = rt.clock()
        link = _find_status_link(rt, design, account, now)
        open_to_claims = link is not None and rules.is_claimable(link, now)
        return DesignStatus(
            link=link,
            is_owner=None if account is None else _is_owner(account, link),
            is_shared_by_other=designs.is_shown_by_others(rt, design, link, now),
            is_disclosed=link is not None and (not link.is_claimed or _may_read(account, link)),
            claim_token=tokens.mint_claim(rt, link.id, now) if link is not None and open_to_claims else None,
        )


def _find_open_link(rt: Runtime, design: UserDesign | None, now: int) -> DesignFile | None:
    """Return the link that publishing ``design`` updates, or None if it creates one. Raises ``forbidden``."""
    bound = None if design is None else rules.select_unclaimed(designs.list_by_user(rt, design), now)
    if bound is not None:
        rules.require_unclaimed(bound)
        rules.require_updates_allowed(bound)
    return bound


def _republish(rt: Runtime, document: StoredDocument, bound: DesignFile, now: int) -> tuple[int, FileReference]:
    file = imports.replace_bound_document(rt, document, bound)
    designs.extend_expiry(rt, bound, now)
    return bound.id, file


def _publish_new(
    rt: Runtime, user: str, document: StoredDocument, design: UserDesign | None, now: int
) -> tuple[int, FileReference]:
    designs.record_upload(rt, user, now)
    delete_at = now + DESIGN_EXPIRY_MS
    row = intake.insert_file(rt, document, owner_id=None, delete_at=delete_at, now=now)
    if design is not None:
        designs.bind(rt, row.id, design, delete_at, now)
    return row.id, (row.uuid, row.short_id, row.content_version)


def _authenticate_account(rt: Runtime, body: Mapping[str, object]) -> Caller | None:
    """Return the account whose token is in ``body``. Raises ``unauthorized`` for an invalid one, ``bad_request``."""
    if "accessToken" not in body:
        return None
    token = import_rules.read_text(body, "accessToken")
    try:
        account = authenticate(rt, f"Bearer {token}")
    except Problem:
        account = None
    if account is None or account.lane not in BEARER:
        raise invalid_credential("accessToken is not valid, or it was revoked.")
    return account


def _find_status_link(rt: Runtime, design: UserDesign, account: Caller | None, now: int) -> DesignFile | None:
    """Return the link to report: the account's own, or else the one that publishing ``design`` would update."""
    owned = designs.list_by_owner(rt, account.account_id, design.design) if account else []
    reached = next((row for row in owned if _can_reach(account, row)), None)
    return reached or rules.select_unclaimed(designs.list_by_user(rt, design), now)


def _is_owner(account: Caller, link: DesignFile | None) -> bool:
    return link is not None and link.owner_id == account.account_id


def _may_read(account: Caller | None, link: DesignFile) -> bool:
    # An access token without the scope to read files, or a key restricted to another file, proves the owner, but does
    # not disclose more.
    readable = account is not None and _is_owner(account, link) and FILES_READ in account.scopes
    return readable and _can_reach(account, link)


def _can_reach(account: Caller | None, link: DesignFile) -> bool:
    return account is not None and account.only_file_id in (None, link.id)
