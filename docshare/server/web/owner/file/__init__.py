"""The pages of one file: overview, settings, links, invitations, hotspots, pictures and sounds, replacement.

Read ``file_page`` first: what all of them share. ``controls`` draws the form of the settings from their tables.
"""

from flask import Blueprint

from docshare.server.web.owner.file import assets, hotspots, invites, links, overview, replace, settings

BLUEPRINTS: tuple[Blueprint, ...] = tuple(
    module.blueprint for module in (overview, settings, links, invites, hotspots, assets, replace)
)
