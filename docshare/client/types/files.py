"""Files, links, and what uploads and imports return."""

from typing import Literal, NotRequired, TypedDict

from docshare.client.types.settings import GateField, PageRange, ViewerMode, ViewerSettings


class File(TypedDict):
    """A file. Keys that do not apply, such as ``slug``, are absent."""

    uuid: str
    shortId: NotRequired[str]
    slug: NotRequired[str]
    originalName: str
    size: int
    mimeType: str
    createdAt: str
    deleteAt: NotRequired[str]
    viewCount: int
    viewerMode: ViewerMode
    protected: bool
    allowDownload: bool
    requireEmail: bool
    notifyOnView: bool
    contentVersion: int
    totalPages: int
    updatedAt: str
    viewsConsumed: int
    viewerSettings: ViewerSettings
    askReceipt: bool
    watermark: bool
    showExpiry: bool
    readerChoice: NotRequired[bool]
    showSender: NotRequired[bool]
    commentsEnabled: bool
    commentsAllowPublic: bool
    notifyOnComment: bool
    marksEnabled: bool
    annotationsEnabled: bool
    designToolUpdatesEnabled: bool
    viewLimit: NotRequired[int]
    burnedAt: NotRequired[str]
    gateFields: NotRequired[list[GateField]]
    gateDomains: NotRequired[list[str]]
    pageRange: NotRequired[PageRange]
    pageRangeEmpty: NotRequired[Literal[True]]
    shareUrl: str
    sha256: str
    downloadWarning: NotRequired[str]


class Revision(TypedDict):
    """One version of the document behind a link."""

    contentVersion: int
    originalName: str
    size: int
    totalPages: int
    sha256: str
    createdAt: str


class FileDetail(File):
    """A file with its revisions, newest first."""

    revisions: list[Revision]


class UploadResult(TypedDict):
    """The result of an upload."""

    uuid: str
    shortId: str
    shareUrl: str
    message: str
    warning: NotRequired[str]
    leftOut: NotRequired[list[str]]
    recovered: NotRequired[bool]
    sha256: NotRequired[str]


class ReplaceResult(TypedDict):
    """The result of a replacement."""

    uuid: str
    contentVersion: int
    originalName: str
    size: int
    anchorsCleared: bool
    clearedHotspots: int
    clearedNotes: int
    clearedMarks: int
    clearedAnnotations: int
    pageRangeEmpty: NotRequired[Literal[True]]
    emptyVariants: NotRequired[int]
    message: str
    warning: NotRequired[str]
    leftOut: NotRequired[list[str]]
    recovered: NotRequired[bool]
    sha256: NotRequired[str]


class DeleteResult(TypedDict):
    """The result of a deletion."""

    trashed: bool
    trashedAt: NotRequired[str]
    purgeAt: NotRequired[str]


class ImportResult(TypedDict):
    """The result of an import."""

    uuid: str
    shortId: str
    shareUrl: str
    palette: NotRequired[list[str]]
    republished: NotRequired[bool]
    contentVersion: NotRequired[int]


class Asset(TypedDict):
    """An image or sound of a file."""

    assetId: str
    kind: Literal["logo", "background", "hotspot-audio"]
    mimeType: Literal["image/png", "image/jpeg", "image/webp", "audio/mpeg"]
    size: int


class AnonymousUploadResult(TypedDict):
    """The result of an upload without an account."""

    uuid: str
    shortId: str
    shareUrl: str
    claimToken: str
    manageToken: str
    message: str
    warning: NotRequired[str]
    leftOut: NotRequired[list[str]]


class PublicMetadata(TypedDict):
    """The data of a link that needs no credential."""

    shortId: str
    originalName: NotRequired[str]
    size: int
    totalPages: int
    viewerMode: ViewerMode
    allowDownload: bool
    protected: bool
    requireEmail: bool
    deleteAt: NotRequired[str]
    shareUrl: str


class DeadLink(TypedDict):
    """Why a link has ended."""

    reason: Literal["expired", "burned"]
    why: str
    endedAt: str
    originalName: NotRequired[str]


class OEmbed(TypedDict):
    """An oEmbed document."""

    version: Literal["1.0"]
    type: Literal["rich"]
    title: str
    provider_name: str
    provider_url: str
    html: str
    width: int
    height: int
    thumbnail_url: NotRequired[str]
    thumbnail_width: NotRequired[int]
    thumbnail_height: NotRequired[int]


class DesignImportResult(TypedDict):
    """The result of publishing a design."""

    uuid: str
    shortId: str
    shareUrl: str
    qrUrl: str
    claimToken: str
    manageToken: str
    palette: NotRequired[list[str]]
    republished: bool
    contentVersion: int


class DesignStatus(TypedDict):
    """The status of a design."""

    claimed: bool
    connectedAccountIsOwner: NotRequired[bool]
    publishedByOther: bool
    contentVersion: NotRequired[int]
    viewCount: NotRequired[int]
    uuid: NotRequired[str]
    shortId: NotRequired[str]
    shareUrl: NotRequired[str]
    qrUrl: NotRequired[str]
    claimToken: NotRequired[str]
