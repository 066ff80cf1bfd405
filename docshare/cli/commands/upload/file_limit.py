"""Find out whether an account has room for one more file."""

from typing import TYPE_CHECKING

from docshare.client.errors import ClientError
from docshare.contract.plans import PLAN_LIMITS, Plan
from docshare.contract.problems import Problem

if TYPE_CHECKING:
    from docshare.client import Client


def is_at_file_limit(client: "Client") -> bool:
    """Return whether the account has used all file slots of its plan; False if that cannot be determined.

    The API reports this refusal as ``forbidden``, without a separate code.
    """
    try:
        account = client.account.show()
        limits = account.get("limits") or {}
        slots = limits.get("maxActiveFiles") or _find_file_slots(
            str(account.get("tier") or account.get("subscription"))
        )
        return slots is not None and len(client.files.list()) >= slots
    except (Problem, ClientError):
        return False


def _find_file_slots(tier: str) -> int | None:
    return next((PLAN_LIMITS[plan].file_slots for plan in Plan if plan.tier == tier), None)
