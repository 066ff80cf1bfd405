"""What a reader may take home, and in what form (sections File settings and Variant). Pure."""

from collections.abc import Mapping
from typing import Any

from docshare.contract.limits import RANGE_AND_WATERMARK_BYTES
from docshare.contract.settings import SETTINGS


def allowed(settings: Mapping[str, Any], overrides: Mapping[str, Any]) -> bool:
    """Whether readers may download at all; the variant's word wins."""
    default = settings.get("allowDownload", SETTINGS["allowDownload"].default)
    return bool(overrides.get("allowDownload", default))


def makeable(size: int, *, as_stored: bool) -> bool:
    """Whether the download can be made of a document of ``size`` bytes.

    Spec: Limits; cutting and stamping work up to 100 MB. A larger document gets there by a replacement; then it is
    better not to be had than to be had whole.
    """
    return as_stored or size <= RANGE_AND_WATERMARK_BYTES


def file_name(original_name: str) -> str:
    """The name of the downloaded file. Spec gap: a converted document keeps its name, and says that it is a PDF."""
    return original_name if original_name.lower().endswith(".pdf") else f"{original_name}.pdf"
