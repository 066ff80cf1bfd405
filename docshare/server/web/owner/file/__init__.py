"""The pages of one file: overview, settings, looks, links, invitations, hotspots, pictures and sounds, replacement."""

from flask import Blueprint

from docshare.server.web.owner.file import assets, hotspots, invites, links, overview, replace, settings

BLUEPRINTS: tuple[Blueprint, ...] = tuple(
    module.blueprint for module in (overview, settings, links, invites, hotspots, assets, replace)
)
