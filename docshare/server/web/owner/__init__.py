"""The owner's pages: library, files, trash, webhooks, account. Read ``frame`` first; all pages share it.

The pages offer only operations of the API: each form calls the same service as the corresponding API route. Like all
of ``web``, it imports services, never tables.
"""

from flask import Blueprint

from docshare.server.web.owner import account, device, file, home, library, selection, trash, webhooks

BLUEPRINTS: tuple[Blueprint, ...] = (
    home.blueprint,
    library.blueprint,
    selection.blueprint,
    trash.blueprint,
    account.blueprint,
    device.blueprint,
    webhooks.blueprint,
    *file.BLUEPRINTS,
)
"""One for each entry of the navigation and its pages."""
