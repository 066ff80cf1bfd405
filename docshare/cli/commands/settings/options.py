"""The options that set settings, for ``docshare upload`` and ``docshare settings set``.

Each is declared once, in a class that ``option_groups.add_options`` adds to a command: its names, type and help, and
with ``Sets`` the setting that takes its value.
"""

from collections.abc import Iterator
from typing import Annotated, Any, NamedTuple

import typer

from docshare.cli.framework.option_groups import OptionGroup

TextList = list[str] | None
Text = str | None
Switch = bool | None


# Options of every command that writes settings.
DIFF = typer.Option("--diff", help="Show old and new values.")
STRICT = typer.Option("--strict", help="Exit with code 13 if the server stored other values.")
READ_BACK = typer.Option("--read-back/--no-read-back", help="Verify what the server stored.")
DRY_RUN = typer.Option("--dry-run", "-n", help="Print the requests without sending them.")
VALIDATE = typer.Option("--validate/--no-validate", help="Check the values before sending.")


class Sets(NamedTuple):
    """The setting that an option sets: a key of ``declarations.ROWS``, or a block of ``viewerSettings``."""

    key: str


def _text_option(metavar: str, help: str) -> Any:
    return typer.Option(metavar=metavar, help=help)


def _switch_option(names: str, help: str) -> Any:
    return typer.Option(names, help=help)


class SettingOptions(OptionGroup):
    """Options that set settings; None if not given."""

    @classmethod
    def list_keys(cls) -> Iterator[tuple[str, str]]:
        """Yield the options that set one setting, each with the key of the setting."""
        for option in cls.parameters():
            for mark in option.annotation.__metadata__:
                if isinstance(mark, Sets):
                    yield option.name, mark.key

    def list_given(self) -> list[tuple[str, str, Any]]:
        """Return the given options that set one setting: option, key of the setting, and value."""
        values = [(option, key, getattr(self, option)) for option, key in self.list_keys()]
        return [each for each in values if each[2] is not None]


class SharingOptions(SettingOptions):
    """The most common settings of a share link."""

    mode: Annotated[
        Text, _text_option("MODE", "Viewer: standard, flipbook, swipe or magazine."), Sets("viewerMode")
    ] = None
    password_file: Annotated[Text, _text_option("F", "Read the password from a file; '-' is stdin. [Basic]")] = None
    password_prompt: Annotated[bool, typer.Option("--password-prompt", help="Prompt for a password. [Basic]")] = False
    download: Annotated[
        Switch, _switch_option("--download/--no-download", "Let readers download the document."), Sets("allowDownload")
    ] = None
    expires: Annotated[
        Text, _text_option("TIME", "Expiry: 7d, a date (end of day), a time, or never."), Sets("deleteAt")
    ] = None
    hide_expiry: Annotated[
        Switch, _switch_option("--hide-expiry/--show-expiry", "Hide the expiry date."), Sets("showExpiry")
    ] = None
    reader_choice: Annotated[
        Switch,
        _switch_option("--reader-choice/--no-reader-choice", "Let readers choose not to be measured."),
        Sets("readerChoice"),
    ] = None
    hide_sender: Annotated[
        Switch, _switch_option("--hide-sender/--show-sender", "Hide your name and logo."), Sets("showSender")
    ] = None
    views: Annotated[
        int | None, typer.Option(metavar="N", help="Delete after N views (0: no limit). [Basic]"), Sets("viewLimit")
    ] = None
    pages: Annotated[Text, _text_option("A-B", "Show only these pages (all: every page). [Pro]"), Sets("pageRange")] = (
        None
    )
    require_email: Annotated[
        Switch,
        _switch_option("--require-email/--no-require-email", "Ask readers for an email address. [Pro]"),
        Sets("requireEmail"),
    ] = None
    email_domain: Annotated[
        TextList, _text_option("D", "Require an email address of this domain; repeatable. [Pro]"), Sets("gateDomains")
    ] = None
    notify: Annotated[
        Switch, _switch_option("--notify/--no-notify", "Notify me of each view. [Basic]"), Sets("notifyOnView")
    ] = None
    watermark: Annotated[
        Switch, _switch_option("--watermark/--no-watermark", "Stamp the pages. [Pro]"), Sets("watermark")
    ] = None
    receipt: Annotated[
        Switch, _switch_option("--receipt/--no-receipt", "Ask readers to confirm receipt. [Basic]"), Sets("askReceipt")
    ] = None
    slug: Annotated[Text, _text_option("NAME", "Custom link: /NAME. [Pro]"), Sets("slug")] = None
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

    comments: Annotated[
        Switch, _switch_option("--comments/--no-comments", "Let readers leave notes. [Pro]"), Sets("commentsEnabled")
    ] = None
    comments_public: Annotated[
        Switch,
        _switch_option("--comments-public/--no-comments-public", "Let readers see each other's notes. [Pro]"),
        Sets("commentsAllowPublic"),
    ] = None
    notify_comments: Annotated[
        Switch,
        _switch_option("--notify-comments/--no-notify-comments", "Notify me of notes. [Pro]"),
        Sets("notifyOnComment"),
    ] = None
    marks: Annotated[
        Switch, _switch_option("--marks/--no-marks", "Let readers mark pages. [Pro]"), Sets("marksEnabled")
    ] = None
    annotations: Annotated[
        Switch,
        _switch_option("--annotations/--no-annotations", "Let readers annotate. [Pro]"),
        Sets("annotationsEnabled"),
    ] = None
    gate: Annotated[
        Text, _text_option("F", "Gate form as JSON, with one email field, or none. [Pro]"), Sets("gateFields")
    ] = None
    ga4: Annotated[
        Text, _text_option("G-ID", "Analytics measurement id (none: no analytics). [Pro]"), Sets("ga4Id")
    ] = None
    brand: Annotated[Text, _text_option("#RRGGBB", "Accent color. [Pro]"), Sets("brand.accentColor")] = None
    cta_label: Annotated[Text, _text_option("TEXT", "Text of the call-to-action button. [Pro]"), Sets("cta.label")] = (
        None
    )
    cta_url: Annotated[Text, _text_option("URL", "Link of the call-to-action button. [Pro]"), Sets("cta.url")] = None
    watermark_opacity: Annotated[
        float | None,
        typer.Option(metavar="N", help="Opacity of the watermark: 0.05 to 0.5. [Pro]"),
        Sets("watermarkStyle.opacity"),
    ] = None
    background: Annotated[
        Text,
        _text_option("LOOK", "#RRGGBB, dusk, sand, slate, forest, blush, mono, asset:ID, or none. [Basic]"),
        Sets("background"),
    ] = None
    logo: Annotated[
        Text, _text_option("asset:ID", "Logo, uploaded as an asset (none: no logo). [Basic]"), Sets("logo.assetId")
    ] = None
    source: Annotated[
        Text, typer.Option("--from-file", metavar="F", help="Read settings from JSON or TOML; '-' is stdin.")
    ] = None
