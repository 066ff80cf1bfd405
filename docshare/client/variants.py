"""Variants of the link of a file, one per recipient."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from docshare.client.errors import NotAnApi
from docshare.client.files import file_path
from docshare.client.http.recovery import Probe
from docshare.client.http.retries import Call
from docshare.client.http.whole_body import JsonBody
from docshare.contract.fields import is_uuid
from docshare.contract.problems import Problem

if TYPE_CHECKING:
    from docshare.client.http.transport import Transport

Row = dict[str, Any]


class VariantsApi:
    """``client.variants``. A ``file`` is a UUID or a short id, a ``variant`` always its UUID; Variant objects are the
    JSON of the server, unchanged."""

    def __init__(self, transport: "Transport") -> None:
        self._transport = transport
        self._created: set[str] = set()

    def list(self, file: str) -> list[Row]:
        """Return all variants of a file, including revoked and redacted ones, newest first
        (``GET /files/{id}/variants``). Problems: plan_required (below Pro), not_found."""
        return _list_variants(self._transport, file)

    def create(
        self,
        file: str,
        label: str | None = None,
        overrides: Mapping[str, Any] | None = None,
        *,
        known: Iterable[str] = (),
    ) -> Row:
        """Create a variant (``POST /files/{id}/variants``) and return it.

        Parameters:
            file: a UUID or a short id.
            label: the recipient, up to 200 characters; None: no label.
            overrides: ``allowDownload`` and ``pageRange``, if they differ from those of the file.
            known: UUIDs of existing variants.

        The API has no idempotency keys. If the response is lost after the server may have created the variant, the
        client reads the list of variants: exactly one new variant with this label and these overrides is the result
        (``"recovered": true``); if there is none, the client retries once; anything else raises ``UnknownOutcome``.
        Problems: bad_request (malformed, or the file has 200), plan_required, not_found, payload_too_large.
        """
        sent: Row = {} if label is None else {"label": label}
        if overrides:
            sent["overrides"] = dict(overrides)
        call = Call("POST", _variants_path(file), body=JsonBody(sent), is_repeatable=False)
        variant = _VariantProbe(self._transport, call, file, sent, known=self._created | set(known)).call_and_recover()
        self._created.add(str(variant.get("uuid")))
        return variant

    def update(self, file: str, variant: str, changes: Mapping[str, Any]) -> Row:
        """Change ``label`` (``""`` clears it), ``overrides`` (replaced as a whole), or ``revoked``, and return the
        Variant (``PUT /files/{id}/variants/{uuid}``). Problems: bad_request, not_found, conflict (the label was
        redacted)."""
        return self._transport.json_object(Call("PUT", _variants_path(file, variant), body=JsonBody(dict(changes))))

    def delete(self, file: str, variant: str) -> None:
        """Delete a variant (``DELETE /files/{id}/variants/{uuid}``); its sessions remain, without a recipient.
        Problems: not_found."""
        self._transport.send(Call("DELETE", _variants_path(file, variant)))

    def redact(self, file: str, variant: str) -> None:
        """Erase the label permanently (``DELETE ...?redact=1``); the link keeps working. Problems: not_found."""
        self._transport.send(Call("DELETE", _variants_path(file, variant), {"redact": 1}))

    def list_figures(self, file: str) -> dict[str, Row]:
        """Return the section ``variants`` of ``GET /files/{id}/readership`` by UUID: ``{uuid, sessions, avgTimeMs,
        ...}``; empty if the plan does not include it. Problems: insufficient_scope, forbidden, not_found."""
        report = self._transport.json_object(Call("GET", f"{file_path(file)}/readership"))
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
    rows = transport.json_object(Call("GET", _variants_path(file))).get("variants")
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise NotAnApi(
            f"{transport.address.base} did not answer with a list of variants",
            method="GET",
            path=f"/api/v1{_variants_path(file)}",
        )
    return rows


def _variants_path(file: str, variant: str | None = None) -> str:
    if variant is None:
        return f"{file_path(file)}/variants"
    # variants.update and variants.delete take the UUID only; anything else must not become part of the path.
    if not is_uuid(variant):
        raise Problem("not_found", f"'{variant}' is not the UUID of a variant")
    return f"{file_path(file)}/variants/{variant}"
