"""Bind files to designs of the design tool, and limit how many designs a user uploads in a day."""

from docshare.contract.limits import DESIGN_UPLOADS
from docshare.server.rules import designs as rules
from docshare.server.rules.designs import DesignFile
from docshare.server.runtime import Runtime
from docshare.server.services.designs.tokens import UserDesign
from docshare.server.store.tables import designs as design_rows
from docshare.server.store.tables import files as file_rows


def list_by_user(rt: Runtime, design: UserDesign) -> list[DesignFile]:
    """Return the active files to which the user of ``design`` published it, newest first."""
    return [DesignFile._make(row) for row in design_rows.list_of_user(rt.db, design.design, design.user)]


def list_by_owner(rt: Runtime, account_id: int, design: str) -> list[DesignFile]:
    """Return the active files of the account that show ``design``, published by any user, newest first."""
    return [DesignFile._make(row) for row in design_rows.list_of_owner(rt.db, design, account_id)]


def is_shown_by_others(rt: Runtime, design: UserDesign, shown: DesignFile | None, now: int) -> bool:
    """Return whether a live link other than ``shown`` shows the design, published by another user."""
    file_id = 0 if shown is None else shown.id
    return design_rows.is_shown_by_others(rt.db, design.design, design.user, file_id, now)


def bind(rt: Runtime, file_id: int, design: UserDesign, expires_at: int | None, now: int) -> None:
    """Bind the new file ``file_id`` to ``design``, in the caller's transaction.

    ``designToolUpdatesEnabled`` is off by default like every switch, because an ordinary upload does not have a design
    that could update it. Binding turns it on; the owner of the file may turn it off.

    Parameters: ``expires_at`` the expiry that this publishing sets.
    """
    if expires_at is not None:
        # A user who publishes without an account has one link for each design, so the new one replaces an ended one.
        design_rows.delete_unclaimed(rt.db, design.design, design.user)
    design_rows.bind(rt.db, file_id, design.user, design.design, expires_at=expires_at, now=now)
    file_rows.enable_setting(rt.db, file_id, rules.UPDATES_SETTING)


def extend_expiry(rt: Runtime, bound: DesignFile, now: int) -> None:
    """Extend the expiry of ``bound``, which was published again, in the caller's transaction."""
    delete_at = rules.renew_expiry(bound, now)
    if delete_at != bound.delete_at:
        file_rows.set_delete_at(rt.db, bound.id, delete_at)
        design_rows.set_expires_at(rt.db, bound.id, delete_at)


def detach(rt: Runtime, file_id: int) -> None:
    """Detach the file from its design for good, in the caller's transaction; without a design, do nothing."""
    design_rows.delete(rt.db, file_id)


def require_daily_quota(rt: Runtime, user: str) -> None:
    """Raise ``rate_limited`` if ``user`` has shared as many new designs in a day as the operator allows."""
    _require_daily_quota(rt, user, rt.clock())


def record_upload(rt: Runtime, user: str, now: int) -> None:
    """Count one new design of ``user``, in the caller's transaction. Raises what ``require_daily_quota`` raises."""
    _require_daily_quota(rt, user, now)
    design_rows.delete_uploads(rt.db, now - DESIGN_UPLOADS.window_ms)
    design_rows.insert_upload(rt.db, user, now)


def _require_daily_quota(rt: Runtime, user: str, now: int) -> None:
    window_ms = DESIGN_UPLOADS.window_ms
    used, oldest = design_rows.count_uploads(rt.db, user, now - window_ms)
    rules.require_daily_quota(used, oldest, most=rt.config.design_uploads, window_ms=window_ms, now=now)
