"""What ``share.yaml`` asks for, read and judged."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from docshare.cli.commands.settings.changes import SettingChanges
from docshare.cli.commands.settings.overrides import Overrides
from docshare.cli.framework.sources import Item


class DesiredVariant(NamedTuple):
    """A link for one recipient. ``overrides``: all it has; ``revoked``: None leaves that as it is."""

    label: str
    overrides: Overrides
    revoked: bool | None = None


@dataclass(frozen=True)
class DesiredFile:
    """A document to be shared.

    ``key``: its name in the state file; ``uuid``: the file it is, where that is said; ``digest``: SHA-256 of its bytes;
    ``changes``: its settings but for the ``password`` (None: left alone, empty: none) and a ``lifetime`` (milliseconds
    from when it was shared); ``line``: where it stands.
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
        """The name of its link; empty for none, or none said."""
        return str(self.changes.fields.get("slug") or "")

    @property
    def set_keys(self) -> list[str]:
        """The settings that it speaks of, so that a later run can tell which left."""
        keys = [*self.changes.fields, *self.changes.looks]
        keys += ["password"] if self.password is not None else []
        keys += ["deleteAt"] if self.lifetime is not None else []
        return sorted({"deleteAt" if key == "neverExpire" else key for key in keys})


class DesiredWebhook(NamedTuple):
    """An address to be told. ``file``: the key of the only file; ``secret_file``: where a new secret goes."""

    url: str
    events: tuple[str, ...]
    format: str
    file: str | None
    secret_file: Path | None
    line: int

    @property
    def key(self) -> str:
        """What it is known by: one webhook stands per address, format and file."""
        return f"{self.format} {self.url}" + (f" {self.file}" if self.file is not None else "")


class DesiredState(NamedTuple):
    """All that one file asks for."""

    files: tuple[DesiredFile, ...]
    webhooks: tuple[DesiredWebhook, ...]
