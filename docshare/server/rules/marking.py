"""What a watermark says, and for whom it stands (section File settings). Pure."""

from datetime import UTC, datetime

from docshare.contract.plans import Plan
from docshare.contract.settings import SETTINGS


def stands(plan: Plan) -> bool:
    """Whether an owner on ``plan`` has watermarks. Spec: Pro fields are checked again when pages are served."""
    return plan >= SETTINGS["watermark"].plan


def text(host: str, code: str, now: int | None = None) -> str:
    """What stands over the pages.

    Parameters: ``host`` of this instance; ``code`` eight characters that tell the copies of one link from those of
    others; ``now`` in milliseconds when a copy is made, None in the viewer. Spec gap: nothing is known of the reader
    yet, and neither the label of a variant nor an id that opens the document may stand on paper.
    """
    said = f"{host} - copy {code[:4]}-{code[4:]}"
    return said if now is None else f"{said} - {datetime.fromtimestamp(now / 1000, UTC).date().isoformat()}"
