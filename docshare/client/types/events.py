"""Rows of the event feed, and the events of webhooks and of the activity feed.

``WebhookEvent`` and ``ActivityRow`` are unions that a type checker narrows by ``event``.
"""

from typing import Literal, NotRequired, TypedDict

EventKind = Literal[
    "file.viewed",
    "file.downloaded",
    "gate.completed",
    "note.created",
    "receipt.confirmed",
    "file.burned",
    "content.replaced",
    "invite.viewed",
    "proofing.updated",
]
ActivityKind = EventKind | Literal["access.denied"]


class Event(TypedDict):
    """A row of the event feed: of a view, a download, or a completed gate."""

    id: int
    fileUuid: str
    fileName: str
    readAt: NotRequired[str]
    country: NotRequired[str]
    pagesViewed: NotRequired[int]
    timeMs: NotRequired[int]
    type: Literal["view", "download", "gate"]
    fields: NotRequired[dict[str, str]]


class EventData(TypedDict):
    """The keys that the data of every event has."""

    fileUuid: str
    fileName: str


class FileViewedData(EventData):
    """The data of ``file.viewed``."""

    pagesViewed: int
    timeMs: int
    sessionId: str
    variantUuid: NotRequired[str]
    variantLabel: NotRequired[str]


class FileDownloadedData(EventData):
    """The data of ``file.downloaded``."""

    variantUuid: NotRequired[str]
    variantLabel: NotRequired[str]


class GateCompletedData(EventData):
    """The data of ``gate.completed``."""

    source: Literal["form", "email"]
    email: NotRequired[str]
    fields: NotRequired[dict[str, str]]


class NoteCreatedData(EventData):
    """The data of ``note.created``."""

    author: str
    body: str
    pageNumber: NotRequired[int]


class ReceiptConfirmedData(EventData):
    """The data of ``receipt.confirmed``."""

    name: str


class ContentReplacedData(EventData):
    """The data of ``content.replaced``."""

    contentVersion: int


class InviteViewedData(EventData):
    """The data of ``invite.viewed``."""

    email: str
    name: str


class ProofingUpdatedData(EventData):
    """The data of ``proofing.updated``."""

    kind: Literal["mark", "annotation"]
    pageNumber: int
    viewer: str


class AccessDeniedData(EventData):
    """The data of ``access.denied``."""

    reason: Literal["password", "domain", "revoked", "expired", "burned"]
    count: int
    variantUuid: NotRequired[str]


class FileViewed(TypedDict):
    """A reader has finished reading; times in milliseconds."""

    event: Literal["file.viewed"]
    timestamp: str
    data: FileViewedData


class FileDownloaded(TypedDict):
    """A reader has downloaded the document."""

    event: Literal["file.downloaded"]
    timestamp: str
    data: FileDownloadedData


class GateCompleted(TypedDict):
    """A reader has passed the email or form gate."""

    event: Literal["gate.completed"]
    timestamp: str
    data: GateCompletedData


class NoteCreated(TypedDict):
    """A reader has left a public note."""

    event: Literal["note.created"]
    timestamp: str
    data: NoteCreatedData


class ReceiptConfirmed(TypedDict):
    """A reader has confirmed the receipt."""

    event: Literal["receipt.confirmed"]
    timestamp: str
    data: ReceiptConfirmedData


class FileBurned(TypedDict):
    """The view limit was reached and the document was deleted."""

    event: Literal["file.burned"]
    timestamp: str
    data: EventData


class ContentReplaced(TypedDict):
    """The document behind the link was replaced."""

    event: Literal["content.replaced"]
    timestamp: str
    data: ContentReplacedData


class InviteViewed(TypedDict):
    """An invitee has opened the document for the first time."""

    event: Literal["invite.viewed"]
    timestamp: str
    data: InviteViewedData


class ProofingUpdated(TypedDict):
    """A reader has made their first mark or annotation."""

    event: Literal["proofing.updated"]
    timestamp: str
    data: ProofingUpdatedData


class AccessDenied(TypedDict):
    """Attempts to open a link were refused; in the activity feed only."""

    event: Literal["access.denied"]
    timestamp: str
    data: AccessDeniedData


class WebhookTested(TypedDict):
    """A test delivery."""

    event: Literal["webhook.test"]
    timestamp: str
    data: EventData


WebhookEvent = (
    FileViewed
    | FileDownloaded
    | GateCompleted
    | NoteCreated
    | ReceiptConfirmed
    | FileBurned
    | ContentReplaced
    | InviteViewed
    | ProofingUpdated
    | WebhookTested
)
"""The body of a webhook delivery."""


class FileViewedRow(FileViewed):
    """``file.viewed`` in the activity feed."""

    id: int


class FileDownloadedRow(FileDownloaded):
    """``file.downloaded`` in the activity feed."""

    id: int


class GateCompletedRow(GateCompleted):
    """``gate.completed`` in the activity feed."""

    id: int


class NoteCreatedRow(NoteCreated):
    """``note.created`` in the activity feed."""

    id: int


class ReceiptConfirmedRow(ReceiptConfirmed):
    """``receipt.confirmed`` in the activity feed."""

    id: int


class FileBurnedRow(FileBurned):
    """``file.burned`` in the activity feed."""

    id: int


class ContentReplacedRow(ContentReplaced):
    """``content.replaced`` in the activity feed."""

    id: int


class InviteViewedRow(InviteViewed):
    """``invite.viewed`` in the activity feed."""

    id: int


class ProofingUpdatedRow(ProofingUpdated):
    """``proofing.updated`` in the activity feed."""

    id: int


class AccessDeniedRow(AccessDenied):
    """``access.denied`` in the activity feed."""

    id: int


ActivityRow = (
    FileViewedRow
    | FileDownloadedRow
    | GateCompletedRow
    | NoteCreatedRow
    | ReceiptConfirmedRow
    | FileBurnedRow
    | ContentReplacedRow
    | InviteViewedRow
    | ProofingUpdatedRow
    | AccessDeniedRow
)
"""A row of the activity feed."""
