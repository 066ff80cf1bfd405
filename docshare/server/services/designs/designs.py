"""Which files show which designs of the design tool."""

from docshare.contract.limits import DESIGN_UPLOADS
from docshare.server.rules import designs as rules
from docshare.server.rules.designs import DesignFile
from docshare.server.runtime import Runtime
from docshare.server.services.designs.tokens import UserDesign

_FILE_COLUMNS = ", ".join(f"f.{column}" for column in DesignFile._fields[:-2])
_SELECT_BOUND = (
    f"SELECT {_FILE_COLUMNS}, d.design_user, d.expires_at FROM designs d JOIN files f ON f.id = d.file_id "  # noqa: S608 - columns
    "WHERE d.design = ? AND f.trashed_at IS NULL"
)
_NEWEST = " ORDER BY d.bound_at DESC, d.file_id DESC"
_OF_USER = f"{_SELECT_BOUND} AND d.design_user = ?{_NEWEST}"
_OF_OWNER = f"{_SELECT_BOUND} AND f.owner_id = ?{_NEWEST}"
_OTHERS = (
    "SELECT 1 FROM designs d JOIN files f ON f.id = d.file_id WHERE d.design = ? AND d.design_user <> ? AND f.id <> ? "
    "AND f.trashed_at IS NULL AND f.burned_at IS NULL AND (f.delete_at IS NULL OR f.delete_at > ?) LIMIT 1"
)
_BIND = "REPLACE INTO designs (file_id, design_user, design, bound_at, expires_at) VALUES (?, ?, ?, ?, ?)"
_ENABLE = "UPDATE files SET settings = json_set(settings, ?, json('true')) WHERE id = ?"
# Whoever publishes without an account has one link of a design; one that died before leaves the place to the next.
_DELETE_OLDER = (
    "DELETE FROM designs WHERE design = ? AND design_user = ? "
    "AND file_id IN (SELECT id FROM files WHERE owner_id IS NULL AND trashed_at IS NULL)"
)
_COUNT_UPLOADS = "SELECT COUNT(*), MIN(uploaded_at) FROM design_uploads WHERE design_user = ? AND uploaded_at > ?"
_DELETE_EXPIRED = "DELETE FROM design_uploads WHERE uploaded_at <= ?"
_ADD_UPLOAD = "INSERT INTO design_uploads (design_user, uploaded_at) VALUES (?, ?)"


def list_by_user(rt: Runtime, design: UserDesign) -> list[DesignFile]:
    """The files that the user of ``design`` has published it to, newest first, without those in the trash."""
    return [DesignFile._make(row) for row in rt.db.rows(_OF_USER, (design.design, design.user))]


def list_by_owner(rt: Runtime, account_id: int, design: str) -> list[DesignFile]:
    """The files of the account that show ``design``, whoever published them, as ``of_user``."""
    return [DesignFile._make(row) for row in rt.db.rows(_OF_OWNER, (design, account_id))]


def is_shown_by_others(rt: Runtime, design: UserDesign, shown: DesignFile | None) -> bool:
    """Whether a living link shows the design that another user has published, besides the one that is ``shown``."""
    file_id = 0 if shown is None else shown.id
    return rt.db.row(_OTHERS, (design.design, design.user, file_id, rt.clock())) is not None


def bind(rt: Runtime, file_id: int, design: UserDesign, expires_at: int | None) -> None:
    """Let the new file ``file_id`` show ``design``, in the caller's transaction.

    ``designToolUpdatesEnabled`` is off by default, as every switch, and an ordinary upload has no design that
    could update it; being bound to one switches it on, so that the owner of such a file decides by switching it off.
    Parameters: ``expires_at`` the expiry that this publishing sets.
    """
    if expires_at is not None:
        rt.db.execute(_DELETE_OLDER, (design.design, design.user))
    rt.db.execute(_BIND, (file_id, design.user, design.design, rt.clock(), expires_at))
    rt.db.execute(_ENABLE, (f"$.{rules.UPDATES_SETTING}", file_id))


def extend_expiry(rt: Runtime, bound: DesignFile) -> None:
    """Move the expiry of ``bound``, which was published again, in the caller's transaction."""
    delete_at = rules.renew_expiry(bound, rt.clock())
    if delete_at != bound.delete_at:
        rt.db.execute("UPDATE files SET delete_at = ? WHERE id = ?", (delete_at, bound.id))
        rt.db.execute("UPDATE designs SET expires_at = ? WHERE file_id = ?", (delete_at, bound.id))


def detach(rt: Runtime, file_id: int) -> None:
    """Sever the file from its design for good, in the caller's transaction; one that has none stays as it is."""
    rt.db.execute("DELETE FROM designs WHERE file_id = ?", (file_id,))


def require_daily_quota(rt: Runtime, user: str) -> None:
    """Raise ``rate_limited`` when ``user`` has shared as many new designs in a day as the operator allows."""
    now, window_ms = rt.clock(), DESIGN_UPLOADS.window_ms
    taken, oldest = rt.db.rows(_COUNT_UPLOADS, (user, now - window_ms))[0]
    rules.require_daily_quota(taken, oldest, most=rt.config.design_uploads, window_ms=window_ms, now=now)


def record_upload(rt: Runtime, user: str) -> None:
    """Count one new design of ``user``, in the caller's transaction. Raises as ``require_budget``."""
    require_daily_quota(rt, user)
    now = rt.clock()
    rt.db.execute(_DELETE_EXPIRED, (now - DESIGN_UPLOADS.window_ms,))
    rt.db.execute(_ADD_UPLOAD, (user, now))
