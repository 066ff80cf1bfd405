"""Check the metadata of a document: names, programs, paths, title, language. Runs only inside the worker."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pikepdf
from pikepdf import Dictionary, Stream, String

from docshare.server.pdf.worker.lint.findings import FindingCollector, join_quoted, quote

# Placeholders for missing names, such as those of ReportLab.
_PLACEHOLDER_NAMES = frozenset(
    {"", "anonymous", "(anonymous)", "unspecified", "(unspecified)", "untitled", "(untitled)"}
)
_PEOPLE_KEYS = ("/Author", "/Company", "/Manager", "/Owner", "/LastModifiedBy", "/Reviewer")
_PEOPLE_XMP_KEYS = ("dc:creator", "dc:contributor", "pdfx:Company", "pdfx:Manager", "xmpRights:Owner")
_PROGRAM_KEYS = ("/Creator", "/Producer", "/PTEX.Fullbanner")
_PROGRAM_XMP_KEYS = ("xmp:CreatorTool", "pdf:Producer")
_STANDARD_KEYS = frozenset({
    *_PEOPLE_KEYS, *_PROGRAM_KEYS, "/Title", "/Subject", "/Keywords", "/CreationDate", "/ModDate", "/Trapped",
})  # fmt: skip
_FILE_NAME = re.compile(
    r"Microsoft (?:Word|PowerPoint|Excel) - .*|.+\.(?:docx?|pptx?|xlsx?|odt|odp|pdf|indd|ai|tex|dvi|md|html?)", re.I
)
# Windows paths with at least one folder, UNC paths, paths in home and temporary folders, file: URLs. A slash after a
# word is part of a web URL.
_PATH = re.compile(
    r"""(?<![A-Za-z])[A-Za-z]:\\(?:[^\\/:*?"<>|\r\n]{1,64}\\)+[^\\/:*?"<>|\r\n]{0,64}"""
    r"""|(?<![\\\w])\\\\[\w.-]{1,64}\\[^\\/:*?"<>|\r\n]{1,64}(?:\\[^\\/:*?"<>|\r\n]{1,64})*"""
    r"""|(?<![\w./:-])/(?:home|Users|Volumes|mnt|tmp|var/folders)/[^\s/"'<>]{1,64}(?:/[^\s"'<>]{0,128})?"""
    r"""|\bfile:/{1,3}[^\s"'<>]{1,200}""",
    re.IGNORECASE,
)
_MAX_TEXT_CHARS = 64 * 1024  # longer texts are searched up to here
_HISTORY_KEY = b"xmpMM:History"


def find_paths(text: str) -> list[str]:
    """Return the paths of files and folders in ``text``."""
    return _PATH.findall(text[:_MAX_TEXT_CHARS]) if "\\" in text or "/" in text else []


def read_title(pdf: pikepdf.Pdf) -> str:
    """Return the title, or "" if the document has none."""
    return _read_text(_document_info(pdf).get("/Title")) or _read_xmp_text(_read_xmp(pdf)[0], "dc:title")


def check_metadata(pdf: pikepdf.Pdf, findings: FindingCollector) -> None:
    """Report document-wide metadata, encryption, and missing data for accessibility."""
    info = _document_info(pdf)
    xmp, raw = _read_xmp(pdf)
    people = Counter(_list_names(info, xmp, _PEOPLE_KEYS, _PEOPLE_XMP_KEYS))
    if people:
        findings.add("author", "note", f"The metadata names {join_quoted(people)}.")
    programs = Counter(_list_names(info, xmp, _PROGRAM_KEYS, _PROGRAM_XMP_KEYS))
    if programs:
        findings.add("producer", "note", f"Created with {join_quoted(programs)}.")
    if _HISTORY_KEY in raw:
        findings.add("history", "note", "The metadata contains the editing history with dates and programs.")
    odd = Counter(key[1:] for key in info.keys() if key not in _STANDARD_KEYS)  # noqa: SIM118 - no mapping
    if odd:
        findings.add("private-data", "note", f"The metadata has custom fields: {join_quoted(odd)}.")
    _check_accessibility(pdf, read_title(pdf), findings)
    if pdf.is_encrypted:
        findings.add("encryption", "note", "The document is encrypted, but opens without a password.")


def _check_accessibility(pdf: pikepdf.Pdf, title: str, findings: FindingCollector) -> None:
    if title.lower() in _PLACEHOLDER_NAMES:
        findings.add("title", "note", "The document has no title; browser tabs show the file name.")
    elif _FILE_NAME.fullmatch(title):
        findings.add("title", "note", f"The title is a file name: {quote(title)}.")
    if not _read_text(pdf.Root.get("/Lang")):
        findings.add(
            "language", "note", "The document does not set its language, so screen readers guess the pronunciation."
        )
    marked: Any = pdf.Root.get("/MarkInfo")
    if not (isinstance(marked, Dictionary) and marked.get("/Marked") and "/StructTreeRoot" in pdf.Root):
        findings.add(
            "tags", "note", "The document is not tagged, so screen readers guess its headings, lists, and tables."
        )


def _list_names(info: Any, xmp: Any, keys: tuple[str, ...], xmp_keys: tuple[str, ...]) -> Iterator[str]:
    values = [_read_text(info.get(key)) for key in keys] + [_read_xmp_text(xmp, key) for key in xmp_keys]
    yield from (value for value in values if value.lower() not in _PLACEHOLDER_NAMES)


def _document_info(pdf: pikepdf.Pdf) -> Any:
    return pdf.docinfo if isinstance(pdf.trailer.get("/Info"), Dictionary) else Dictionary()


def _read_text(value: Any) -> str:
    return str(value).strip() if isinstance(value, String) else ""


def _read_xmp_text(xmp: Any, key: str) -> str:
    """Return the text under ``key``; the items of a list are joined by commas."""
    try:
        value = xmp.get(key) if xmp is not None else None
    except (KeyError, TypeError, ValueError):
        return ""
    if isinstance(value, list | set | tuple):
        return ", ".join(str(each).strip() for each in value if each)
    return str(value).strip() if value else ""


def _read_xmp(pdf: pikepdf.Pdf) -> tuple[Any, bytes]:
    """Return the XMP metadata of the document, or None if it is missing or broken, and its bytes."""
    stream = pdf.Root.get("/Metadata")
    if not isinstance(stream, Stream):
        return None, b""
    try:
        raw = stream.read_bytes()
        xmp = pdf.open_metadata(set_pikepdf_as_editor=False, update_docinfo=False, strict=True)
        xmp.get("dc:title")  # pikepdf parses it on first use
    except (pikepdf.PdfError, ValueError, TypeError, SyntaxError):
        return None, b""
    return xmp, raw
