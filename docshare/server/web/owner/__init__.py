"""The owner's pages: library, files, trash, webhooks, account. Rendered here, for whoever is signed in.

They do nothing that the API cannot: each form ends in the same service as the route of the API.
"""

from flask import Blueprint

from docshare.server.web.owner import home

BLUEPRINTS: tuple[Blueprint, ...] = (home.blueprint,)
"""One for each place of the navigation, and what belongs to it."""
