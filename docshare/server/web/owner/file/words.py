"""Labels of the settings in the forms of a file, each with one line of help. Pure.

A setting without a label here appears under its wire name, spelled out.
"""

import re

_CAMEL_CASE_BOUNDARY = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

_LABELS_AND_HELP: dict[str, tuple[str, str]] = {
    "viewerMode": ("Viewer mode", "Readers can change to the plain version at any time."),
    "password": ("Password", "Readers enter it to open the document. Leave it empty to change nothing."),
    "allowDownload": ("Readers may download the PDF", ""),
    "showExpiry": ("Show readers when the link ends", ""),
    "readerChoice": ("Readers may choose not to be measured", "On by default, unless the link asks who they are."),
    "showSender": ("Show your name and logo before the document opens", "Also when the link has ended, and in emails."),
    "requireEmail": ("Ask for an email address first", "Always on while there is a form."),
    "notifyOnView": ("Email me when somebody reads", ""),
    "deleteAt": ("The link ends on", "Date and time in UTC. Empty: never."),
    "neverExpire": ("The link never ends", "Clears the date."),
    "viewLimit": ("Number of views", "After that many, the link ends and the document is deleted. Empty: no limit."),
    "pageRange": ("Pages that readers see", "Other pages are never sent to them. Empty: all pages."),
    "gateFields": ("Questions before reading", "Up to five; one asks for the email address. The field name identifies "
                   "the answer in exports and webhooks. Empty: made from the question."),
    "gateDomains": ("Only these email domains", "One per line, such as example.com. Empty: all."),
    "askReceipt": ("Ask readers to confirm receipt", ""),
    "commentsEnabled": ("Readers may leave notes", ""),
    "commentsAllowPublic": ("Readers may show their notes to other readers", "The author of a note decides."),
    "notifyOnComment": ("Email me about new notes", ""),
    "marksEnabled": ("Readers may pick and reject pages", ""),
    "annotationsEnabled": ("Readers may annotate areas of pages", ""),
    "watermark": ("Watermark on each page", "The reader's email address, if known, also in downloads up to 100 MB."),
    "slug": ("Custom link", "Replaces the random part of the link: lowercase letters, digits, and hyphens. The old "
             "link keeps working."),
    "designToolUpdatesEnabled": ("The design tool may publish new versions", ""),
    "detachDesignToolDesign": ("Detach from its design", "Permanent: the design tool can publish no more versions."),
    "viewerSettings.background.type": ("Kind", ""),
    "viewerSettings.background.color": ("Color", "Behind the pages."),
    "viewerSettings.background.preset": ("Gradient", "If the kind is a gradient."),
    "viewerSettings.background.assetId": ("Image", "If the kind is an image."),
    "viewerSettings.background.fit": ("Image fit", ""),
    "viewerSettings.background.blur": ("Image blur", "0 to 20."),
    "viewerSettings.background.dim": ("Image dimming", "0 to 80 percent."),
    "viewerSettings.logo.assetId": ("Logo", ""),
    "viewerSettings.logo.position": ("Corner", ""),
    "viewerSettings.logo.size": ("Size", ""),
    "viewerSettings.logo.linkUrl": ("Link", "An https:// address."),
    "viewerSettings.logo.hideBadge": ("Hide the docshare badge", ""),
    "viewerSettings.page.shadow": ("Shadow", "0 to 3."),
    "viewerSettings.page.rounded": ("Rounded corners", "0 to 3."),
    "viewerSettings.page.edges": ("Show the edges of the other pages", ""),
    "viewerSettings.page.coverAlone": ("Show the cover alone", "In the modes with two pages side by side."),
    "viewerSettings.flip.speedMs": ("Speed", "200 to 1200 milliseconds."),
    "viewerSettings.flip.sound": ("Page-turn sound", ""),
    "viewerSettings.flip.rtl": ("Read from right to left", ""),
    "viewerSettings.flip.layout": ("Layout", ""),
    "viewerSettings.swipe.autoAdvance": ("Advance automatically", ""),
    "viewerSettings.swipe.intervalMs": ("Time for one page", "3000 to 30000 milliseconds."),
    "viewerSettings.protect.contextMenu": ("Disable the context menu", ""),
    "viewerSettings.protect.print": ("Ask readers not to print", ""),
    "viewerSettings.protect.select": ("Disable text selection", ""),
    "viewerSettings.protect.blurOnLeave": ("Blur when the window loses focus", ""),
    "viewerSettings.ga4Id": ("Google Analytics 4", "An id such as G-ABCDE12345. Readers then load Google's script."),
    "viewerSettings.brand.accentColor": ("Accent color", ""),
    "viewerSettings.brand.toolbarTheme": ("Toolbar", ""),
    "viewerSettings.brand.badgePosition": ("Corner of the badge", ""),
    "viewerSettings.cta.label": ("Button label", "Up to 40 characters. Leave it and the link empty for no button."),
    "viewerSettings.cta.url": ("Link", "An https:// address."),
    "viewerSettings.cta.style": ("Style", ""),
    "viewerSettings.cta.color": ("Color", "#RRGGBB. Empty: the accent color."),
    "viewerSettings.cta.position": ("Position", ""),
    "viewerSettings.watermarkStyle.opacity": ("Opacity", "0.05 to 0.5."),
    "viewerSettings.watermarkStyle.density": ("Density", ""),
}  # fmt: skip

BLOCK_LABELS = {
    "background": "Background",
    "logo": "Logo",
    "page": "Pages",
    "flip": "Page turning",
    "swipe": "Swiping",
    "protect": "Protection",
    "ga4Id": "Analytics",
    "brand": "Brand",
    "cta": "Button",
    "watermarkStyle": "Watermark",
}
"""Headings of the blocks of ``viewerSettings``."""

_OPTION_LABELS = {
    "tl": "Top left", "tr": "Top right", "bl": "Bottom left", "br": "Bottom right", "bar": "Bar at the bottom",
    "s": "Small", "m": "Medium", "l": "Large", "xl": "Very large",
    "email": "Email address", "phone": "Phone number",
    "viewerMode.standard": "Standard: pages below each other", "viewerMode.flipbook": "Flipbook: pages that turn",
    "viewerMode.swipe": "Swipe: one page at a time", "viewerMode.magazine": "Magazine: two pages side by side",
    "viewerSettings.background.type.solid": "One color",
    "viewerSettings.background.fit.cover": "Fill the window",
    "viewerSettings.background.fit.contain": "Show the whole image",
    "viewerSettings.flip.layout.adaptive": "As many pages as fit", "viewerSettings.flip.layout.single": "One page",
    "viewerSettings.flip.layout.double": "Two pages",
    "viewerSettings.brand.toolbarTheme.auto": "As in the reader's system",
    "viewerSettings.cta.style.solid": "Filled", "viewerSettings.cta.style.outline": "Outlined",
}  # fmt: skip
"""Wire value, or name of the setting and wire value -> label. Any other value is capitalized."""


def control_label(name: str) -> str:
    """Return the label of the control ``name``."""
    return _LABELS_AND_HELP[name][0] if name in _LABELS_AND_HELP else spell_out(name.rpartition(".")[2])


def control_help(name: str) -> str:
    """Return one line of help for the control ``name``; empty if its label is enough."""
    return _LABELS_AND_HELP.get(name, ("", ""))[1]


def option_label(word: str, name: str = "") -> str:
    """Return the label of the wire value ``word`` in the choices of the setting ``name``."""
    return _OPTION_LABELS.get(f"{name}.{word}") or _OPTION_LABELS.get(word) or word.capitalize()


def spell_out(name: str) -> str:
    """Return a wire name as words: ``viewLimit`` is ``View limit``."""
    return " ".join(_CAMEL_CASE_BOUNDARY.split(name)).lower().capitalize()
