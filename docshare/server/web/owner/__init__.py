"""The owner's pages: library, files, trash, webhooks, account. Read ``frame`` first: what all of them share.

They do nothing that the API cannot: each form calls the same service as the route of the API.
"""

from flask import Blueprint

from docshare.server.web.owner import account, file, home, library, trash, webhooks

BLUEPRINTS: tuple[Blueprint, ...] = (
    home.blueprint,
    library.blueprint,
    trash.blueprint,
    account.blueprint,
    webhooks.blueprint,
    *file.BLUEPRINTS,
)
"""One for each place of the navigation, and what belongs to it."""
