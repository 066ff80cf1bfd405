"""A file that a client has sent, between the parser of forms and the services."""

from dataclasses import dataclass

from docshare.server.store.blobs import PartialFile


@dataclass(frozen=True)
class ReceivedFile:
    """A file of a form. ``filename``: as sent, so any text, including path separators; ``content_type``: as declared;
    ``part``: the partial file with its bytes."""

    filename: str
    content_type: str
    part: PartialFile
