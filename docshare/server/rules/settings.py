"""Read the settings of a file, and apply a write: check plans and expiry, and reject what does not fit. Pure."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from docshare.contract import viewer
from docshare.contract.features import plan_problem
from docshare.contract.fields import field_problem
from docshare.contract.limits import MANAGE_EXPIRY_MS, RANGE_AND_WATERMARK_BYTES
from docshare.contract.plans import MB, Plan
from docshare.contract.problems import Problem
from docshare.contract.settings import SETTINGS, required_plan
from docshare.server.rules.page_window import suggest_range

_DEFAULTS: Mapping[str, Any] = MappingProxyType({name: row.default for name, row in SETTINGS.items()})
# These keys are actions and are not stored: one removes the expiry, the other the binding to a design, if any.
_ACTION_SETTINGS = ("neverExpire", "detachDesignToolDesign")
_SIZE_LIMIT = f"{RANGE_AND_WATERMARK_BYTES // MB} MB"
_SIZE_HINT = "Upload only the pages that you want to share, as a separate file."


def read_settings(stored: str, overrides: str = "{}") -> Mapping[str, Any]:
    """Return every setting by wire name, with the default of the table where none is stored.

    Parameters: ``stored`` the settings of the file that differ from the defaults, JSON; ``overrides`` those of a
    variant, which take precedence.
    """
    if stored == overrides == "{}":
        return _DEFAULTS
    return {**_DEFAULTS, **json.loads(stored), **json.loads(overrides)}


@dataclass(frozen=True)
class CurrentFile:
    """The file before the write: ``size`` in bytes; ``settings`` that differ from the defaults, by wire name."""

    size: int
    total_pages: int
    settings: Mapping[str, Any]


def resolve_settings(
    sent: Mapping[str, Any], file: CurrentFile, *, plan: Plan, managed: bool, now: int
) -> dict[str, Any]:
    """Return the settings to store, by wire name; None clears.

    Parameters: ``sent`` as returned by ``contract.settings.parse_settings``; ``plan`` of the caller; ``managed``
    whether the caller uses a manage token.

    Raises ``plan_required`` for the first field above the plan, ``forbidden`` for ``neverExpire`` with a manage
    token, ``bad_request`` for fields that exclude each other or do not fit the document, ``payload_too_large`` for a
    page range on a large file. The caller checks whether a slug is free and an asset exists.
    """
    _require_plan(sent, plan)
    _require_page_range(sent.get("pageRange"), file)
    settled = {name: value for name, value in sent.items() if name not in _ACTION_SETTINGS}
    settled |= _resolve_expiry(sent, managed=managed, now=now)
    if {"gateFields", "requireEmail"} & sent.keys() and sent.get("gateFields", file.settings.get("gateFields")):
        settled["requireEmail"] = True  # regardless of the body, while there is a form
    _require_stampable(settled, file)
    return settled


def drop_defaults(stored: Mapping[str, Any], settled: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``stored`` updated with ``settled``: only values that differ from the defaults, in table order."""
    both = {**stored, **settled}
    kept = (row for row in SETTINGS.values() if both.get(row.name) is not None)
    return {row.name: both[row.name] for row in kept if both[row.name] != row.default}


def _require_plan(sent: Mapping[str, Any], plan: Plan) -> None:
    for name, value in sent.items():
        needed = required_plan(name, value)
        if needed > plan:
            found = _find_setting_above_plan(name, value, plan)
            raise plan_problem(needed, f"The setting {found}", found)


def _find_setting_above_plan(name: str, value: Any, plan: Plan) -> str:
    """Return the part of the setting ``name`` that is above ``plan``: a block of viewer settings, or the setting
    itself."""
    if name != "viewerSettings":
        return name
    return next(f"{name}.{key}" for key, block in value.items() if viewer.required_plan({key: block}) > plan)


def _require_page_range(pages: Mapping[str, int] | None, file: CurrentFile) -> None:
    if pages is None:
        return
    if file.size > RANGE_AND_WATERMARK_BYTES:
        detail = f"A page range can be set on files up to {_SIZE_LIMIT}."
        raise Problem("payload_too_large", detail, hint=_SIZE_HINT, field="pageRange")
    if pages["to"] > file.total_pages:
        rule = f"within the {file.total_pages} pages of the document"
        raise field_problem("pageRange", rule, suggest_range(file.total_pages))


def _resolve_expiry(sent: Mapping[str, Any], *, managed: bool, now: int) -> dict[str, int | None]:
    """Return the new expiry. Accounts have no limit; with a manage token the link ends after 7 days at the latest."""
    if sent.get("neverExpire"):
        if managed:
            hint = "Claim the file into an account; its links need not expire."
            raise Problem("forbidden", "A manage token cannot set neverExpire.", hint=hint)
        if "deleteAt" in sent:
            raise Problem("bad_request", "neverExpire and deleteAt exclude each other.", field="deleteAt")
        return {"deleteAt": None}
    if managed and "deleteAt" in sent:
        return {"deleteAt": min(sent["deleteAt"], now + MANAGE_EXPIRY_MS)}
    return {}


def _require_stampable(settled: Mapping[str, Any], file: CurrentFile) -> None:
    """Raise if this write enables a watermark on a file that is too large to be stamped.

    Only the settings of this write are checked, so that other settings of such a file can still be changed.
    """
    if file.size <= RANGE_AND_WATERMARK_BYTES or not (settled.get("watermark") or settled.get("allowDownload")):
        return
    after = {"watermark": False, "allowDownload": True, **file.settings, **settled}
    if after["watermark"] and after["allowDownload"]:
        detail = f"A watermark together with downloads can be set on files up to {_SIZE_LIMIT}."
        raise Problem("bad_request", detail, hint="Set allowDownload to false in the same request.", field="watermark")
