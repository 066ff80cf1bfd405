"""Return the public facts of a share link, available without opening it: metadata and oEmbed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from docshare.server.runtime import Runtime
from docshare.server.services.files import page_range
from docshare.server.services.links import entry, guessing
from docshare.server.services.links.links import Link


@dataclass(frozen=True)
class PublicMetadata:
    """The public facts of ``link``. ``settings`` by wire name, as its readers have them; ``pages``: how many pages
    its readers see; ``is_name_hidden``: a password or an email gate hides the name of the document."""

    link: Link
    settings: Mapping[str, Any]
    pages: int
    is_name_hidden: bool

    @property
    def is_alive(self) -> bool:
        """Return whether the link can be opened by a reader who meets its requirements."""
        return self.link.state not in ("expired", "burned") and self.link.file.frozen_at is None

    @property
    def ended_at(self) -> int | None:
        """Return when the link expired or burned (ms); None while it is alive."""
        file = self.link.file
        return {"expired": file.delete_at, "burned": file.burned_at}.get(self.link.state)

    @property
    def has_requirements(self) -> bool:
        """Return whether the link has requirements that come before the first page."""
        return bool(entry.find_requirements(self.link).kinds)


def get_metadata(rt: Runtime, name: str, address: str) -> PublicMetadata:
    """Return the public metadata of the link ``name``, a UUID or short id, for the IP address ``address``.

    Raises like ``guessing.find_link``, and ``forbidden`` for a frozen link. File routes do not accept a slug, not even
    one that looks like a short id.
    """
    link = guessing.find_link(rt, name, address, ids_only=True)
    if link.file.frozen_at is not None:
        raise entry.link_frozen()
    return build_metadata(link)


def build_metadata(link: Link) -> PublicMetadata:
    """Return the public metadata of ``link``."""
    return PublicMetadata(link, link.settings, page_range.reader_window(link).size, entry.is_name_hidden(link))
