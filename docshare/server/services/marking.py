"""The watermark of a document: what stands over its pages for readers, in the viewer and in downloads.

Spec: File settings, watermark; viewerSettings, watermarkStyle.
"""

import hmac
import json
from typing import Any
from urllib.parse import urlsplit

from docshare.server.pdf.engine import Mark
from docshare.server.rules import marking as rules
from docshare.server.rules import viewer_settings
from docshare.server.runtime import Runtime
from docshare.server.services.links import Link, owner_plan
from docshare.server.services.secrets import instance_secret

_SECRET = "copy-code-1"  # noqa: S105 - a name


def prepare(rt: Runtime) -> None:
    """Make what marking needs, so that opening a page stores nothing."""
    instance_secret(rt, _SECRET)


def for_readers(rt: Runtime, link: Link) -> Mark | None:
    """The mark over the pages of ``link`` as they are shown; None where there is none."""
    settings: dict[str, Any] = json.loads(link.file.settings)
    if not settings.get("watermark"):
        return None  # most documents, and every page image asks
    plan = owner_plan(rt, link)
    if not rules.stands(plan):
        return None
    style = viewer_settings.effective(settings.get("viewerSettings", {}), plan)["watermarkStyle"]
    return Mark(rules.text(_host(rt), _code(rt, link)), style["opacity"], style["density"])


def for_copy(rt: Runtime, link: Link) -> Mark | None:
    """The mark over the pages of a download that is made now: with its day."""
    mark = for_readers(rt, link)
    return None if mark is None else mark._replace(text=rules.text(_host(rt), _code(rt, link), rt.clock()))


def _host(rt: Runtime) -> str:
    return urlsplit(rt.config.base_url).hostname or ""


def _code(rt: Runtime, link: Link) -> str:
    uuid = (link.variant or link.file).uuid
    return hmac.digest(instance_secret(rt, _SECRET), uuid.encode(), "sha256")[:4].hex().upper()
