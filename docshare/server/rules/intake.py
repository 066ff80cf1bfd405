"""Whether an upload is accepted: file slots, sizes, free disk space."""

from docshare.contract import media
from docshare.contract.amounts import format_size
from docshare.contract.plans import GB, PLAN_LIMITS, Plan
from docshare.contract.problems import Problem

MIN_FREE_DISK_BYTES = GB  # bytes that uploads leave free, so that the database can always write
_RETRY_AFTER_S = 300


def require_slot(plan: Plan, active_files: int) -> None:
    """Raise ``forbidden`` if ``active_files`` use all slots of ``plan``. Burned and expired files count as well."""
    slots = PLAN_LIMITS[plan].file_slots
    if slots is not None and active_files >= slots:
        # The code is not plan_required, so the text must not suggest it.
        raise Problem(
            "forbidden",
            f"All {slots} file slots of the account are in use.",
            hint="Delete a file, or change to a plan with more slots.",
        )


def max_stored_size(plan: Plan) -> int:
    """Return the size in bytes of the largest PDF that ``plan`` may store."""
    return PLAN_LIMITS[plan].stored_bytes


def require_size(plan: Plan, size: int) -> None:
    """Raise ``payload_too_large`` if a file of ``size`` bytes is more than ``plan`` may store."""
    if size > max_stored_size(plan):
        raise file_size_problem(plan)


def file_size_problem(plan: Plan) -> Problem:
    """Return the problem for a file that is larger than ``plan`` may store."""
    limit = format_size(max_stored_size(plan))
    return Problem("payload_too_large", f"The file is larger than {limit}, the limit of the {plan.tier} plan.")


def require_input_size(plan: Plan, size: int) -> None:
    """Raise ``payload_too_large`` if a file of ``size`` bytes, of any kind, is more than ``plan`` may send."""
    if size > media.max_input_size_limit(plan):
        raise file_size_problem(plan)


def require_kind_size(plan: Plan, kind: str, size: int) -> None:
    """Raise ``payload_too_large`` if ``size`` bytes are too many for an office document.

    ``kind``: a key of ``media.DOCUMENTS`` that is converted. Its limit is the same on every plan.
    """
    cap = media.input_size_limit(kind, plan)
    if size > cap:
        raise Problem("payload_too_large", f"The file is larger than {format_size(cap)}, the limit for .{kind} files.")


def require_disk_space(free_bytes: int, expected: int) -> None:
    """Raise ``unavailable`` if storing ``expected`` bytes would leave less than ``MIN_FREE_DISK_BYTES`` of
    ``free_bytes``."""
    if free_bytes - expected < MIN_FREE_DISK_BYTES:
        raise disk_space_problem()


def disk_space_problem() -> Problem:
    """Return the problem for an upload that the disk has no room for."""
    return Problem(
        "unavailable",
        "The server does not have enough disk space for this upload.",
        hint="Try again later, or ask the operator to free disk space.",
        headers={"Retry-After": str(_RETRY_AFTER_S)},
    )
