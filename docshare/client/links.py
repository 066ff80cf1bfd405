"""Names of files, as ids for the API: UUIDs, short ids, share links, embed links, and custom links (slugs)."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from docshare.client.errors import BadAddress
from docshare.client.http.call import Call
from docshare.contract.patterns import SHORT_ID, SLUG, UUID, Pattern
from docshare.contract.problems import Problem

if TYPE_CHECKING:
    from docshare.client.http.transport import Transport

_FILE_ID = Pattern(r"[0-9A-Za-z_-]+")
SCHEMES = ("http://", "https://")
SLUG_PREFIX = "slug:"

FileLookup = Callable[[str], Mapping[str, Any] | None]


def file_path(transport: "Transport", file: str) -> str:
    """Return the path of a file below ``/api/v1``; see ``find_file_id``."""
    return f"/files/{find_file_id(transport, file)}"


def find_file_id(transport: "Transport", file: str) -> str:
    """Return the UUID or short id of ``file``: one of these, a share link, an embed link, or ``slug:NAME``.

    Only a slug costs a request, for the list of files. Problems: not_found (malformed, or an unknown slug). Raise
    ``BadAddress`` for the custom link of another server.
    """
    if file.startswith(SCHEMES):
        base = transport.address.base
        return resolve_link(file, base, lambda slug: _find_by_slug(transport, slug))
    if file.startswith(SLUG_PREFIX):
        slug = file.removeprefix(SLUG_PREFIX)
        return str(_require_slug(slug, _find_by_slug(transport, slug))["uuid"])
    # A malformed id must not become part of the path: ".." would address another resource.
    if not _FILE_ID.fullmatch(file):
        raise Problem("not_found", f"'{file}' is not a UUID, a short id, or a share link")
    return file


def extract_public_id(file: str) -> str:
    """Return the UUID or short id of ``file``, which may be a link. Problems: not_found (also for slugs)."""
    name = extract_link_name(file) if file.startswith(SCHEMES) else file
    if not _FILE_ID.fullmatch(name):
        raise Problem("not_found", f"'{file}' is not a UUID, a short id, or a share link with one of them")
    return name


def extract_link_name(link: str) -> str:
    """Return the last path segment of a share link: a UUID, short id or slug; empty if there is none."""
    try:
        parts = [part for part in unquote(urlsplit(link).path).split("/") if part]
    except ValueError:
        return ""
    return parts[-1] if parts else ""


def resolve_link(link: str, base_url: str, find_by_slug: FileLookup) -> str:
    """Return the UUID or short id of the file behind ``link``.

    Parameters: ``base_url`` of the server in use; ``find_by_slug`` returns the file of that server with a slug. Unlike
    random ids, a slug such as "handbook" exists on many servers, so raise ``BadAddress`` for that of another one.
    Problems: not_found (not a share link, or an unknown slug).
    """
    name = extract_link_name(link)
    if UUID.fullmatch(name):
        return name.lower()
    is_slug = SLUG.fullmatch(name) is not None
    # Twelve lowercase letters or digits may be a short id, but are far more likely to be a slug.
    file = find_by_slug(name) if is_slug else None
    if SHORT_ID.fullmatch(name) and file is None:
        return name
    if not is_slug:
        raise Problem("not_found", f"'{link}' is not a share link", extra={"malformed": True})
    file = _require_slug(name, file)
    own = str(file.get("shareUrl", link))
    if host_of(link) not in (host_of(own), host_of(base_url)):
        raise BadAddress(f"{link} belongs to another server, not {host_of(own)}", hint="Use a client of that server.")
    return str(file["uuid"])


def host_of(url: str) -> str:
    """Return host and port of a URL, without a default port."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return ""
    return f"{parts.hostname}:{port}" if port not in (None, 80, 443) else str(parts.hostname)


def _find_by_slug(transport: "Transport", slug: str) -> Mapping[str, Any] | None:
    files = transport.json_rows(Call("GET", "/files"))
    return next((file for file in files if file.get("slug") == slug), None)


def _require_slug(slug: str, file: Mapping[str, Any] | None) -> Mapping[str, Any]:
    if file is None:
        raise Problem("not_found", f"no file with the slug '{slug}'")
    return file
