"""Variants of a file's link, one per recipient (section Variants)."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from docshare.client.errors import NotAnApi
from docshare.client.files import file_path
from docshare.client.json_body import JsonBody
from docshare.client.recovery import Probe
from docshare.client.retries import Call
from docshare.contract.fields import is_uuid
from docshare.contract.problems import Problem

if TYPE_CHECKING:
    from docshare.client.transport import Transport

Row = dict[str, Any]


class Variants:
    """``client.variants``. A ``file`` is a UUID or a short id, a ``variant`` always its UUID; Variant objects are the
    server's JSON as it was sent."""

    def __init__(self, transport: "Transport") -> None:
        self._transport = transport
        self._made: set[str] = set()

    def list(self, file: str) -> list[Row]:
        """``GET /files/{id}/variants``: all of a file, newest first, revoked and redacted ones too. Problems:
        plan_required (below Pro), not_found."""
        return _rows(self._transport, file)

    def create(
        self,
        file: str,
        label: str | None = None,
        overrides: Mapping[str, Any] | None = None,
        *,
        known: Iterable[str] = (),
    ) -> Row:
        """``POST /files/{id}/variants``: the new Variant.

        Parameters:
            file: a UUID or a short id.
            label: who it is for, up to 200 characters; None for nobody in particular.
            overrides: ``allowDownload`` and ``pageRange``, where they differ from the file's.
            known: UUIDs of variants that were there before.

        The API knows no idempotency key. When the answer is lost after the server may have made the variant, the list
        decides: one new variant of that label and those overrides, which is not ``known``, is the result
        (``"recovered": true``), none means that it is sent once more, and anything else raises ``UnknownOutcome``.
        Problems: bad_request (malformed, or the file has 200), plan_required, not_found, payload_too_large.
        """
        sent: Row = {} if label is None else {"label": label}
        if overrides:
            sent["overrides"] = dict(overrides)
        call = Call("POST", _path(file), body=JsonBody(sent), repeatable=False)
        variant = _VariantProbe(self._transport, call, file, sent, known=self._made | set(known)).guard()
        self._made.add(str(variant.get("uuid")))
        return variant

    def update(self, file: str, variant: str, changes: Mapping[str, Any]) -> Row:
        """``PUT /files/{id}/variants/{uuid}``: the Variant after ``changes`` to ``label`` (``""`` clears),
        ``overrides`` (replaced as a whole) and ``revoked``. Problems: bad_request, not_found, conflict (the label was
        redacted)."""
        return self._transport.json_object(Call("PUT", _path(file, variant), body=JsonBody(dict(changes))))

    def delete(self, file: str, variant: str) -> None:
        """``DELETE /files/{id}/variants/{uuid}``: the link dies, its sessions stay unattributed. Problems:
        not_found."""
        self._transport.send(Call("DELETE", _path(file, variant)))

    def redact(self, file: str, variant: str) -> None:
        """``DELETE ...?redact=1``: erase the label for good; the link goes on working. Problems: not_found."""
        self._transport.send(Call("DELETE", _path(file, variant), {"redact": 1}))

    def reading(self, file: str) -> dict[str, Row]:
        """The ``variants`` of ``GET /files/{id}/readership`` by UUID: ``{uuid, sessions, avgTimeMs, ...}``; empty where
        the plan has no such section. Problems: insufficient_scope, forbidden, not_found."""
        report = self._transport.json_object(Call("GET", f"{file_path(file)}/readership"))
        rows = report.get("variants")
        return {str(row["uuid"]): row for row in rows if "uuid" in row} if isinstance(rows, list) else {}


class _VariantProbe(Probe):
    """The probe of a create: a new variant of the same label and the same overrides."""

    what, kind, place = "creation of a variant", "variant", "the list of variants"

    def __init__(self, transport: "Transport", call: Call, file: str, sent: Row, *, known: set[str]) -> None:
        super().__init__(transport, call, known=known)
        self._file = file
        self._sent = sent

    def rows(self) -> list[Row]:
        """The variants of the file."""
        return _rows(self._transport, self._file)

    def fits(self, row: Row) -> bool:
        """Whether the variant is for the same recipient and allows the same."""
        # Spec gap: labels are trimmed, so they come back without the blanks around them.
        wanted = (self._sent.get("label", "").strip(), self._sent.get("overrides", {}))
        return (row.get("label", ""), row.get("overrides") or {}) == wanted

    def result(self, row: Row) -> Row:
        """The Variant as it is listed."""
        return row


def _rows(transport: "Transport", file: str) -> list[Row]:
    rows = transport.json_object(Call("GET", _path(file))).get("variants")
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise NotAnApi(
            f"{transport.address.base} did not answer with a list of variants",
            method="GET",
            path=f"/api/v1{_path(file)}",
        )
    return rows


def _path(file: str, variant: str | None = None) -> str:
    if variant is None:
        return f"{file_path(file)}/variants"
    # Spec: Variants. Paths take the UUID only; anything else must not become part of one.
    if not is_uuid(variant):
        raise Problem("not_found", f"'{variant}' is no UUID of a variant")
    return f"{file_path(file)}/variants/{variant}"
