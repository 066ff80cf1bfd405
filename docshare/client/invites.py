"""Invitations to a file: one personal link per email address."""

from typing import TYPE_CHECKING, Any, cast

from docshare.client.http.call import Call
from docshare.client.http.resource import Resource
from docshare.client.http.whole_body import JsonBody
from docshare.client.links import file_path

if TYPE_CHECKING:
    from docshare.client.http.transport import Transport
    from docshare.client.types.variants import Invite

Row = dict[str, Any]


class InvitesApi(Resource):
    """``client.invites``. A ``file`` is a UUID or a short id.

    Example::

        client.invites.create(link, "ann@example.com", "Ann", mail=False)
        print([invite["email"] for invite in client.invites.list(link) if "viewedAt" not in invite])
    """

    def list(self, file: str) -> "list[Invite]":
        """Return the invitations, newest first (``GET /files/{id}/invites``): ``{uuid, email, name, url, createdAt,
        viewedAt}``; ``name`` and ``viewedAt`` only if known. Problems: plan_required (below Pro), not_found."""
        return cast("list[Invite]", self._transport.json_rows(Call("GET", _invites_path(self._transport, file))))

    def create(self, file: str, email: str, name: str | None = None, *, mail: bool = True) -> "Invite":
        """Create the invitation of ``email``, or return the existing one (``POST /files/{id}/invites``).

        Parameters:
            name: name of the person, up to 120 characters.
            mail: whether the server sends the invitation by email.

        A file has at most one invitation per address, so the call can be retried. Problems: bad_request (malformed
        address, or the file has 1000), plan_required (below Pro), not_found.
        """
        sent: Row = {"email": email, "mail": mail}
        if name:
            sent["name"] = name
        return cast(
            "Invite",
            self._transport.json_object(
                Call("POST", _invites_path(self._transport, file), body=JsonBody(sent), is_repeatable=True)
            ),
        )


def _invites_path(transport: "Transport", file: str) -> str:
    return f"{file_path(transport, file)}/invites"
