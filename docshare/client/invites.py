"""Invitations to a file: a personal link for each address (additions of this product)."""

from typing import TYPE_CHECKING, Any

from docshare.client.files import file_path
from docshare.client.json_body import JsonBody
from docshare.client.retries import Call

if TYPE_CHECKING:
    from docshare.client.transport import Transport

Row = dict[str, Any]


class Invites:
    """``client.invites``. A ``file`` is a UUID or a short id."""

    def __init__(self, transport: "Transport") -> None:
        self._transport = transport

    def list(self, file: str) -> list[Row]:
        """``GET /files/{id}/invites``: rows ``{uuid, email, name, url, createdAt, viewedAt}``, newest first; ``name``
        and ``viewedAt`` only where known. Problems: plan_required (below Pro), not_found."""
        return self._transport.json_rows(Call("GET", _path(file)))

    def create(self, file: str, email: str, name: str | None = None, *, mail: bool = True) -> Row:
        """``POST /files/{id}/invites``: the invitation of ``email``, new or standing.

        Parameters:
            name: of the person, up to 120 characters.
            mail: whether the server writes to them.

        An address has one invitation of a file, so a lost answer is asked for again. Problems: bad_request (no address,
        or 1000 stand), plan_required (below Pro), not_found.
        """
        sent: Row = {"email": email, "mail": mail}
        if name:
            sent["name"] = name
        return self._transport.json_object(Call("POST", _path(file), body=JsonBody(sent), repeatable=True))


def _path(file: str) -> str:
    return f"{file_path(file)}/invites"
