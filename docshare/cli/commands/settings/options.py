"""The options that set settings: those of ``docshare upload``, and all of ``docshare settings set``.

They are declared once, as classes; ``collecting.collecting`` gives them to a command.
"""

from typing import Annotated, Any

import typer

from docshare.cli.framework.option_groups import OptionGroup

TextList = list[str] | None
Text = str | None
Switch = bool | None


# What writing settings takes besides them.
DIFF = typer.Option("--diff", help="Show old and new values.")
STRICT = typer.Option("--strict", help="Exit code 13 if the server kept other values than were sent.")
READ_BACK = typer.Option("--read-back/--no-read-back", help="Compare with what the server stored.")
DRY_RUN = typer.Option("--dry-run", "-n", help="Say what would be sent; write nothing.")
VALIDATE = typer.Option("--validate/--no-validate", help="Check the values before sending.")


def _text_option(metavar: str, help: str) -> Any:
    return typer.Option(metavar=metavar, help=help)


def _switch_option(names: str, help: str) -> Any:
    return typer.Option(names, help=help)


class SharingOptions(OptionGroup):
    """What is most often set on a share link; None where nothing was said."""

    mode: Annotated[Text, _text_option("MODE", "Viewer: standard, flipbook, swipe or magazine.")] = None
    password_file: Annotated[Text, _text_option("F", "Protect with the password in a file; '-' is stdin. [Basic]")] = (
        None
    )
    password_prompt: Annotated[bool, typer.Option("--password-prompt", help="Ask for a password. [Basic]")] = False
    download: Annotated[Switch, _switch_option("--download/--no-download", "Whether readers may download.")] = None
    expires: Annotated[Text, _text_option("TIME", "End the link: 7d, a date (its end), a time, or never.")] = None
    hide_expiry: Annotated[Switch, _switch_option("--hide-expiry/--show-expiry", "Whether readers see the end.")] = None
    views: Annotated[int | None, typer.Option(metavar="N", help="Destroy after N views; 0: never. [Basic]")] = None
    pages: Annotated[Text, _text_option("A-B", "Show these pages only; all: every page. [Pro]")] = None
    require_email: Annotated[
        Switch, _switch_option("--require-email/--no-require-email", "Ask readers for an e-mail address. [Pro]")
    ] = None
    email_domain: Annotated[
        TextList, _text_option("D", "Ask for an address, and let only this domain in; many are possible. [Pro]")
    ] = None
    notify: Annotated[Switch, _switch_option("--notify/--no-notify", "Tell me about each view. [Basic]")] = None
    watermark: Annotated[Switch, _switch_option("--watermark/--no-watermark", "Stamp the pages. [Pro]")] = None
    receipt: Annotated[Switch, _switch_option("--receipt/--no-receipt", "Ask readers to confirm receipt. [Basic]")] = (
        None
    )
    slug: Annotated[Text, _text_option("NAME", "Name of the link: /NAME. [Pro]")] = None
    assignments: Annotated[
        TextList, typer.Option("--set", metavar="KEY=VALUE", help="Set anything; see docshare settings schema.")
    ] = None


class UploadSettings(SharingOptions):
    """The options of ``docshare upload``."""

    source: Annotated[
        Text, typer.Option("--settings", metavar="F", help="Settings in a JSON or TOML file; '-' is stdin.")
    ] = None


class AllSettings(SharingOptions):
    """The options of ``docshare settings set``."""

    comments: Annotated[Switch, _switch_option("--comments/--no-comments", "Let readers leave notes. [Pro]")] = None
    comments_public: Annotated[
        Switch, _switch_option("--comments-public/--no-comments-public", "Let readers see each other's notes. [Pro]")
    ] = None
    notify_comments: Annotated[
        Switch, _switch_option("--notify-comments/--no-notify-comments", "Tell me about notes. [Pro]")
    ] = None
    marks: Annotated[Switch, _switch_option("--marks/--no-marks", "Let readers mark pages. [Pro]")] = None
    annotations: Annotated[Switch, _switch_option("--annotations/--no-annotations", "Let readers annotate. [Pro]")] = (
        None
    )
    gate: Annotated[
        Text, _text_option("F", "Form for readers, a JSON file with one email field; none: no form. [Pro]")
    ] = None
    ga4: Annotated[Text, _text_option("G-ID", "Analytics measurement id; none: no analytics. [Pro]")] = None
    brand: Annotated[Text, _text_option("#RRGGBB", "Accent colour. [Pro]")] = None
    cta_label: Annotated[Text, _text_option("TEXT", "Words on the button for readers. [Pro]")] = None
    cta_url: Annotated[Text, _text_option("URL", "Where that button leads. [Pro]")] = None
    watermark_opacity: Annotated[
        float | None, typer.Option(metavar="N", help="How strong the stamp is: 0.05 to 0.5. [Pro]")
    ] = None
    background: Annotated[
        Text, _text_option("LOOK", "#RRGGBB, dusk, sand, slate, forest, blush, mono, asset:ID, or none. [Basic]")
    ] = None
    logo: Annotated[Text, _text_option("asset:ID", "Logo, uploaded as an asset; none: no logo. [Basic]")] = None
    source: Annotated[
        Text, typer.Option("--from-file", metavar="F", help="Settings in a JSON or TOML file; '-' is stdin.")
    ] = None
