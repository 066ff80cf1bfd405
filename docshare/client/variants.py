"""Variants of the link of a file, one per recipient."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

from docshare.client.errors import NotAnApi
from docshare.client.http.call import Call
from docshare.client.http.recovery import Probe
from docshare.client.http.resource import Resource
from docshare.client.http.whole_body import JsonBody
from docshare.client.links import SCHEMES, extract_link_name, file_path
from docshare.contract.fields import is_uuid
from docshare.contract.problems import Problem

if TYPE_CHECKING:
    from docshare.client.http.transport import Transport
    from docshare.client.types.readership import VariantFigures
    from docshare.client.types.variants import Overrides, Variant, VariantUpdate

Row = dict[str, Any]


class VariantsApi(Resource):
    """``client.variants``. A ``variant`` is its UUID or its link; Variant objects are the JSON of the
    server, unchanged.

    Example::

        variant = client.variants.create(link, "Ann Lee", {"allowDownload": False})
        client.variants.update(link, variant["url"], {"revoked": True})
    """

    def __init__(self, transport: "Transport") -> None:
        super().__init__(transport)
        self._created: set[str] = set()

    def list(self, file: str) -> "list[Variant]":
        """Return all variants of a file, including revoked and redacted ones, newest first
        (``GET /files/{id}/variants``). Problems: plan_required (below Pro), not_found."""
        return cast("list[Variant]", _list_variants(self._transport, file))

    def create(
        self,
        file: str,
        label: str | None = None,
        overrides: "Overrides | Mapping[str, Any] | None" = None,
        *,
        known: Iterable[str] = (),
    ) -> "Variant":
        """Create a variant (``POST /files/{id}/variants``) and return it.

        Parameters:
            file: a UUID or a short id.
            label: the recipient, up to 200 characters; None: no label.
            overrides: ``allowDownload``, ``pageRange`` and ``readerChoice``, if they differ from those of the file.
            known: UUIDs of existing variants.

        The API has no idempotency keys. If the response is lost after the server may have created the variant, the
        client reads the list of variants: exactly one new variant with this label and these overrides is the result
        (``"recovered": true``); if there is none, the client retries once; anything else raises ``UnknownOutcome``.
        Problems: bad_request (malformed, or the file has 200), plan_required, not_found, payload_too_large.
        """
        sent: Row = {} if label is None else {"label": label}
        if overrides:
            sent["overrides"] = dict(overrides)
        call = Call("POST", _variants_path(self._transport, file), body=JsonBody(sent), is_repeatable=False)
        variant = _VariantProbe(self._transport, call, file, sent, known=self._created | set(known)).call_and_recover()
        self._created.add(str(variant.get("uuid")))
        return cast("Variant", variant)

    def update(self, file: str, variant: str, changes: "VariantUpdate | Mapping[str, Any]") -> "Variant":
        """Change ``label`` (``""`` clears it), ``overrides`` (replaced as a whole), or ``revoked``, and return the
        Variant (``PUT /files/{id}/variants/{uuid}``). Problems: bad_request, not_found, conflict (the label was
        redacted)."""
        return cast(
            "Variant",
            self._transport.json_object(Call("PUT", self._path(file, variant), body=JsonBody(dict(changes)))),
        )

    def delete(self, file: str, variant: str) -> None:
        """Delete a variant (``DELETE /files/{id}/variants/{uuid}``); its sessions remain, without a recipient.
        Problems: not_found."""
        self._transport.send_unless_done(Call("DELETE", self._path(file, variant)))

    def redact(self, file: str, variant: str) -> None:
        """Erase the label permanently (``DELETE ...?redact=1``); the link keeps working. Problems: not_found."""
        self._transport.send(Call("DELETE", self._path(file, variant), {"redact": 1}))

    def _path(self, file: str, variant: str) -> str:
        if variant.startswith(SCHEMES):
            name = extract_link_name(variant)
            rows = _list_variants(self._transport, file)
            variant = next((str(row["uuid"]) for row in rows if row.get("shortId") == name), variant)
        return _variants_path(self._transport, file, variant)

    def list_figures(self, file: str) -> "dict[str, VariantFigures]":
        """Return the section ``variants`` of ``GET /files/{id}/readership`` by UUID: ``{uuid, sessions, avgTimeMs,
        ...}``; empty if the plan does not include it. Problems: insufficient_scope, forbidden, not_found."""
        report = self._transport.json_object(Call("GET", f"{file_path(self._transport, file)}/readership"))
        rows = report.get("variants")
        return {str(row["uuid"]): row for row in rows if "uuid" in row} if isinstance(rows, list) else {}


class _VariantProbe(Probe):
    """Look for a new variant with the same label and overrides."""

    what, kind, place = "creation of a variant", "variant", "the list of variants"

    def __init__(self, transport: "Transport", call: Call, file: str, sent: Row, *, known: set[str]) -> None:
        super().__init__(transport, call, known=known)
        self._file = file
        self._payload = sent

    def list_rows(self) -> list[Row]:
        """Return the variants of the file."""
        return _list_variants(self._transport, self._file)

    def matches(self, row: Row) -> bool:
        """Return whether label and overrides are the same."""
        # The server trims labels.
        wanted = (self._payload.get("label", "").strip(), self._payload.get("overrides", {}))
        return (row.get("label", ""), row.get("overrides") or {}) == wanted

    def build_result(self, row: Row) -> Row:
        """Return the Variant as listed."""
        return row


def _list_variants(transport: "Transport", file: str) -> list[Row]:
    path = _variants_path(transport, file)
    rows = transport.json_object(Call("GET", path)).get("variants")
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise NotAnApi(
            f"{transport.address.base} did not answer with a list of variants", method="GET", path=f"/api/v1{path}"
        )
    return rows


def _variants_path(transport: "Transport", file: str, variant: str | None = None) -> str:
    path = f"{file_path(transport, file)}/variants"
    if variant is None:
        return path
    # variants.update and variants.delete take the UUID only; anything else must not become part of the path.
    if not is_uuid(variant):
        raise Problem("not_found", f"'{variant}' is not the UUID or the link of a variant")
    return f"{path}/{variant}"
