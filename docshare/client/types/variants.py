"""Variants and invitations."""

from typing import Literal, NotRequired, TypedDict

from docshare.client.types.settings import PageRange


class Overrides(TypedDict, total=False):
    """Settings in which a variant differs from its file."""

    allowDownload: bool
    pageRange: PageRange
    readerChoice: bool


class Variant(TypedDict):
    """A variant of a link, for one recipient."""

    uuid: str
    shortId: str
    url: str
    label: NotRequired[str]
    overrides: Overrides
    revoked: bool
    redacted: bool
    pageRangeEmpty: NotRequired[Literal[True]]
    createdAt: str
    downloadWarning: NotRequired[str]
    recovered: NotRequired[bool]


class VariantUpdate(TypedDict, total=False):
    """Changes of a variant."""

    label: str
    overrides: Overrides
    revoked: bool


class Invite(TypedDict):
    """An invitation by email."""

    uuid: str
    email: str
    name: NotRequired[str]
    url: str
    createdAt: str
    viewedAt: NotRequired[str]
