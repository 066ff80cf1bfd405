"""What anybody may know of a share link without opening it: public metadata and oEmbed."""

import json
from dataclasses import dataclass
from typing import Any

from docshare.contract.settings import SETTINGS
from docshare.server.runtime import Runtime
from docshare.server.services.files import page_range
from docshare.server.services.links import entry, guessing
from docshare.server.services.links.links import Link

_DEFAULTS: dict[str, Any] = {name: row.default for name, row in SETTINGS.items()}


@dataclass(frozen=True)
class PublicMetadata:
    """What is told of ``link``: ``settings`` by wire name, as they are for its readers; ``pages`` how many of them the
    readers see; ``nameless``: a password or an e-mail gate stands, so the document's name is not told."""

    link: Link
    settings: dict[str, Any]
    pages: int
    nameless: bool

    @property
    def alive(self) -> bool:
        """Whether the link can be opened, if need be after what it asks for."""
        return self.link.state not in ("expired", "burned") and self.link.file.frozen_at is None

    @property
    def ended_at(self) -> int | None:
        """When the link ended, in milliseconds; None while it is alive."""
        file = self.link.file
        return {"expired": file.delete_at, "burned": file.burned_at}.get(self.link.state)

    @property
    def asks(self) -> bool:
        """Whether the link asks for something before it shows any page."""
        return bool(entry.find_requirements(self.link).kinds)


def get_metadata(rt: Runtime, name: str, address: str) -> PublicMetadata:
    """What is told of the link ``name``, a UUID or short id, to the network address ``address``.

    Raises as ``guessing.find_link``, and ``forbidden`` for a frozen link. A slug is no id of a file route, not even one
    that looks like a short id.
    """
    link = guessing.find_link(rt, name, address, ids_only=True)
    if link.file.frozen_at is not None:
        raise entry.link_frozen()
    return build_metadata(link)


def build_metadata(link: Link) -> PublicMetadata:
    """What may be told of ``link``."""
    stored = json.loads(link.file.settings)
    told = {**_DEFAULTS, **stored, **link.overrides}
    return PublicMetadata(link, told, page_range.reader_window(link).size, entry.is_name_hidden(link))
