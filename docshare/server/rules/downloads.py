"""Whether a reader can download a file, and in which form. Pure."""

from docshare.contract.limits import RANGE_AND_WATERMARK_BYTES


def can_make_download(size: int, *, as_stored: bool) -> bool:
    """Return whether the download can be made of a document of ``size`` bytes.

    Documents over 100 MB cannot be cut or stamped. A document can become that large by replacement; then there is no
    download, rather than one of the whole document.
    """
    return as_stored or size <= RANGE_AND_WATERMARK_BYTES


_FAILURE_TEXT = "Readers cannot download this document"
_REMEDY = "Save the PDF again in another program and replace the file, or turn downloads off."
_WARNINGS = {
    "large": f"{_FAILURE_TEXT}: a page range or watermark is applied to files of up to 100 MB only.",
    "late": "The copy that readers download takes long to make. Their downloads may fail while the server is busy.",
    "looks": f"{_FAILURE_TEXT}: the copy with the page range or watermark would look different. {_REMEDY}",
    "leak": f"{_FAILURE_TEXT}: the copy would contain parts of the hidden pages. {_REMEDY}",
    "refused": (
        f"{_FAILURE_TEXT}: the PDF is damaged, and no copy with the page range or watermark can be made. {_REMEDY}"
    ),
}


def classify_failure(found: str, *, is_permanent: bool) -> str:
    """Return the reason to store for a copy that could not be made; ``found`` is the reason given by a worker, if
    any."""
    if not is_permanent:
        return "late"
    return found if found in _WARNINGS else "refused"


def describe_warning(reason: str | None) -> str | None:
    """Return the message for the owner about a stored ``reason``; None for none."""
    return None if reason is None else _WARNINGS.get(reason, _WARNINGS["refused"])


def download_name(original_name: str) -> str:
    """Return the name of the downloaded file; a converted document keeps its name, followed by ``.pdf``."""
    return original_name if original_name.lower().endswith(".pdf") else f"{original_name}.pdf"
