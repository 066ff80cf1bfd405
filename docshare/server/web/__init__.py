"""Everything that a browser opens: share pages, sign-in, and their resources.

Read ``public`` first: the share page and its pages, text and images. ``gates`` handles the conditions of a link,
``beacons`` the reports of reading, ``feedback`` the feedback of readers; ``owner`` has the pages of accounts, and
``readership`` those about readers. It imports services, never tables.
"""

from collections.abc import Mapping
from typing import Any

from flask import Flask
from jinja2 import Undefined
from jinja2.utils import missing

from docshare.contract.amounts import format_plural
from docshare.server.runtime import Runtime
from docshare.server.services.files import page_range
from docshare.server.services.links import entry, watermark
from docshare.server.services.operations import unsubscribe
from docshare.server.services.readership import viewing
from docshare.server.web import (
    appearance,
    assets,
    beacons,
    docs,
    downloads,
    feedback,
    finding,
    headers,
    notices,
    oauth,
    oembed,
    owner,
    public,
    sign_in,
)
from docshare.server.web.gates import gate
from docshare.server.web.readership import account_readership, report, report_sessions


class _FieldUndefined(Undefined):
    """The value of a name that does not exist.

    A missing variable or key of a mapping is empty; a missing field of an object is an error, because nobody would
    notice that it is missing in the page.
    """

    def __init__(self, hint: str | None = None, obj: Any = missing, name: str | None = None, **more: Any) -> None:
        super().__init__(hint, obj, name, **more)
        if not (obj is missing or isinstance(obj, Mapping)):
            self._fail_with_undefined_error()


def prepare_pages(rt: Runtime) -> None:
    """Create the secrets that the pages need, so that showing the first page stores nothing."""
    for service in (viewing, page_range, watermark, entry, unsubscribe):
        service.prepare(rt)


def register(app: Flask) -> None:
    """Add the pages and their resources to ``app``."""
    app.jinja_env.globals["asset"] = assets.asset_url
    app.jinja_env.globals["oembed_address"] = oembed.oembed_url
    app.jinja_env.globals["plural"] = format_plural
    app.jinja_env.undefined = _FieldUndefined
    app.jinja_env.trim_blocks = app.jinja_env.lstrip_blocks = True
    app.after_request(headers.add_security_headers)
    for module in (
        assets,
        beacons,
        docs,
        sign_in,
        oauth,
        oembed,
        appearance,
        downloads,
        feedback,
        finding,
        gate,
        notices,
        report,
        account_readership,
        report_sessions,
        public,
    ):
        app.register_blueprint(module.blueprint)
    for blueprint in owner.BLUEPRINTS:
        app.register_blueprint(blueprint)
