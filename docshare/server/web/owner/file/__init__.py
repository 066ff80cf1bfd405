"""The pages of one file: overview, settings, looks, links, invitations, hotspots, images and sounds, replacement.

Read ``file_page`` first; all pages share it. ``controls`` builds the settings form from the tables of the contract. It
imports services, never tables.
"""

from flask import Blueprint

from docshare.server.web.owner.file import assets, hotspots, invites, links, looks, overview, replace, settings

BLUEPRINTS: tuple[Blueprint, ...] = tuple(
    module.blueprint for module in (overview, settings, looks, links, invites, hotspots, assets, replace)
)
