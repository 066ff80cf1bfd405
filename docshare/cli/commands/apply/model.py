"""The validated content of ``share.yaml``."""

from dataclasses import dataclass, field
from pathlib import Path

from docshare.cli.commands.settings.changes import SettingChanges
from docshare.cli.commands.settings.overrides import Overrides
from docshare.cli.framework.sources import Item


@dataclass(frozen=True)
class DesiredVariant:
    """A link for one recipient. ``overrides``: all of them; ``revoked``: None leaves the current state."""

    label: str
    overrides: Overrides
    revoked: bool | None = None


@dataclass(frozen=True)
class DesiredFile:
    """A document to share.

    ``key``: its name in the state file; ``uuid``: the existing file, if given; ``digest``: SHA-256 of its bytes;
    ``changes``: its settings except ``password`` (None: unchanged, empty: none) and ``lifetime`` (milliseconds from the
    first upload); ``line``: its line in the YAML file.
    """

    key: str
    item: Item
    digest: str
    line: int
    uuid: str | None = None
    keep_anchors: bool = False
    changes: SettingChanges = field(default_factory=SettingChanges)
    password: str | None = None
    lifetime: int | None = None
    variants: tuple[DesiredVariant, ...] = ()

    @property
    def slug(self) -> str:
        """Return the slug; empty if it is unset or not given."""
        return str(self.changes.fields.get("slug") or "")

    @property
    def set_keys(self) -> list[str]:
        """Return the settings that the entry names, so that a later run can detect removed ones."""
        keys = [*self.changes.fields, *self.changes.viewer_fields]
        keys += ["password"] if self.password is not None else []
        keys += ["deleteAt"] if self.lifetime is not None else []
        return sorted({"deleteAt" if key == "neverExpire" else key for key in keys})


@dataclass(frozen=True)
class DesiredWebhook:
    """A webhook endpoint. ``file``: the key of its only file; ``secret_file``: where to store a new secret."""

    url: str
    events: tuple[str, ...]
    format: str
    file: str | None
    secret_file: Path | None
    line: int

    @property
    def key(self) -> str:
        """Return the identity of the webhook: URL, format, and file are unique together."""
        return f"{self.format} {self.url}" + (f" {self.file}" if self.file is not None else "")


@dataclass(frozen=True)
class DesiredState:
    """The content of one YAML file."""

    files: tuple[DesiredFile, ...]
    webhooks: tuple[DesiredWebhook, ...]
