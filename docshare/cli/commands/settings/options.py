"""The options that set settings, for ``docshare upload`` and ``docshare settings set``.

Each is declared once, in a class that ``option_groups.add_options`` adds to a command: its type, help and setting,
whose row of ``contract.settings`` has its names.
"""

from collections.abc import Iterator
from typing import Annotated, Any

import typer
from typer.models import OptionInfo

from docshare.cli.framework.option_groups import OptionGroup
from docshare.contract.settings import SETTINGS
from docshare.contract.viewer import PRESETS

TextList = list[str] | None
Text = str | None
Switch = bool | None


# Options of every command that writes settings.
DIFF = typer.Option("--diff", help="Show old and new values.")
STRICT = typer.Option("--strict", help="Exit with code 13 if the server stored other values.")
READ_BACK = typer.Option("--read-back/--no-read-back", help="Verify what the server stored.")
DRY_RUN = typer.Option("--dry-run", "-n", help="Print the requests without sending them.")
VALIDATE = typer.Option("--validate/--no-validate", help="Check the values before sending.")


class SettingOption(OptionInfo):
    """An option that sets the setting ``key`` (of ``contract.settings``, which names its options), or the block of
    ``viewerSettings`` with the path ``key``, under the name of the attribute."""

    def __init__(self, key: str, help: str, metavar: str | None = None) -> None:
        names = SETTINGS[key].options if key in SETTINGS else ()
        super().__init__(default=..., param_decls=["/".join(names)] if names else None, help=help, metavar=metavar)
        self.key = key


class SettingOptions(OptionGroup):
    """Options that set settings; None if not given."""

    @classmethod
    def list_keys(cls) -> Iterator[tuple[str, str]]:
        """Yield the options that set one setting, each with the key of the setting."""
        for option in cls.parameters():
            for mark in option.annotation.__metadata__:
                if isinstance(mark, SettingOption):
                    yield option.name, mark.key

    def list_given(self) -> list[tuple[str, str, Any]]:
        """Return the given options that set one setting: option, key of the setting, and value."""
        values = [(option, key, getattr(self, option)) for option, key in self.list_keys()]
        return [each for each in values if each[2] is not None]


class SharingOptions(SettingOptions):
    """The most common settings of a share link."""

    mode: Annotated[Text, SettingOption("viewerMode", "Viewer: standard, flipbook, swipe, or magazine.", "MODE")] = None
    password_file: Annotated[
        Text, typer.Option(metavar="F", help="Read the password from a file; '-' is stdin. [Basic]")
    ] = None
    password_prompt: Annotated[bool, typer.Option("--password-prompt", help="Prompt for a password. [Basic]")] = False
    download: Annotated[Switch, SettingOption("allowDownload", "Let readers download the document.")] = None
    expires: Annotated[
        Text, SettingOption("deleteAt", "Expiry: 7d, a date (end of day), a time, or never.", "TIME")
    ] = None
    show_expiry: Annotated[Switch, SettingOption("showExpiry", "Show or hide the expiry date.")] = None
    reader_choice: Annotated[Switch, SettingOption("readerChoice", "Let readers choose not to be measured.")] = None
    show_sender: Annotated[Switch, SettingOption("showSender", "Show or hide your name and logo.")] = None
    views: Annotated[int | None, SettingOption("viewLimit", "Delete after N views (0: no limit). [Basic]", "N")] = None
    pages: Annotated[Text, SettingOption("pageRange", "Show only these pages (all: every page). [Pro]", "A-B")] = None
    require_email: Annotated[Switch, SettingOption("requireEmail", "Ask readers for an email address. [Pro]")] = None
    email_domain: Annotated[
        TextList, SettingOption("gateDomains", "Require an email address of this domain. Repeatable. [Pro]", "D")
    ] = None
    notify: Annotated[Switch, SettingOption("notifyOnView", "Notify me of each view. [Basic]")] = None
    watermark: Annotated[Switch, SettingOption("watermark", "Stamp the pages. [Pro]")] = None
    receipt: Annotated[Switch, SettingOption("askReceipt", "Ask readers to confirm receipt. [Basic]")] = None
    slug: Annotated[Text, SettingOption("slug", "Custom link: /NAME. [Pro]", "NAME")] = None
    assignments: Annotated[
        TextList, typer.Option("--set", metavar="KEY=VALUE", help="Set any setting; see docshare settings schema.")
    ] = None


class UploadSettings(SharingOptions):
    """The options of ``docshare upload``."""

    source: Annotated[
        Text, typer.Option("--settings", metavar="F", help="Read settings from JSON or TOML; '-' is stdin.")
    ] = None


class AllSettings(SharingOptions):
    """The options of ``docshare settings set``."""

    comments: Annotated[Switch, SettingOption("commentsEnabled", "Let readers leave notes. [Pro]")] = None
    comments_public: Annotated[
        Switch, SettingOption("commentsAllowPublic", "Let readers see each other's notes. [Pro]")
    ] = None
    notify_comments: Annotated[Switch, SettingOption("notifyOnComment", "Notify me of notes. [Pro]")] = None
    marks: Annotated[Switch, SettingOption("marksEnabled", "Let readers mark pages. [Pro]")] = None
    annotations: Annotated[Switch, SettingOption("annotationsEnabled", "Let readers annotate. [Pro]")] = None
    gate: Annotated[
        Text, SettingOption("gateFields", "Gate form as JSON, with one email field, or none. [Pro]", "F")
    ] = None
    ga4: Annotated[Text, SettingOption("ga4Id", "Analytics measurement id (none: no analytics). [Pro]", "G-ID")] = None
    brand: Annotated[Text, SettingOption("brand.accentColor", "Accent color. [Pro]", "#RRGGBB")] = None
    cta_label: Annotated[Text, SettingOption("cta.label", "Text of the call-to-action button. [Pro]", "TEXT")] = None
    cta_url: Annotated[Text, SettingOption("cta.url", "Link of the call-to-action button. [Pro]", "URL")] = None
    watermark_opacity: Annotated[
        float | None, SettingOption("watermarkStyle.opacity", "Opacity of the watermark: 0.05 to 0.5. [Pro]", "N")
    ] = None
    background: Annotated[
        Text,
        SettingOption("background", f"#RRGGBB, {', '.join(PRESETS)}, asset:ID, or none. [Basic]", "LOOK"),
    ] = None
    logo: Annotated[
        Text, SettingOption("logo.assetId", "Logo, uploaded as an asset (none: no logo). [Basic]", "asset:ID")
    ] = None
    source: Annotated[
        Text, typer.Option("--from-file", metavar="F", help="Read settings from JSON or TOML; '-' is stdin.")
    ] = None
