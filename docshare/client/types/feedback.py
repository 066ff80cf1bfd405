"""Page marks, annotations, notes, and receipts."""

from typing import Literal, NotRequired, TypedDict

MarkKind = Literal["pick", "reject", "maybe"]


class MarkCounts(TypedDict):
    """Marks by kind."""

    pick: int
    reject: int
    maybe: int


class MarkedPage(MarkCounts):
    """Marks of one page."""

    page: int


class PageMark(TypedDict):
    """One mark."""

    page: int
    mark: MarkKind


class MarkingViewer(TypedDict):
    """The marks of one viewer."""

    identity: str
    marks: list[PageMark]


class PageMarks(TypedDict):
    """The page marks of a file."""

    pages: list[MarkedPage]
    viewers: list[MarkingViewer]
    totals: MarkCounts


class Rect(TypedDict):
    """A rectangle in fractions of the page, from the top left."""

    x: float
    y: float
    width: float
    height: float


class Annotation(TypedDict):
    """One annotation."""

    uuid: str
    identity: str
    rect: Rect
    note: str
    createdAt: str


class AnnotatedPage(TypedDict):
    """The annotations of one page."""

    page: int
    annotations: list[Annotation]


class Annotations(TypedDict):
    """The annotations of a file."""

    pages: list[AnnotatedPage]


class FeedbackNote(TypedDict):
    """One note."""

    uuid: str
    author: str
    body: str
    pageNumber: NotRequired[int]
    public: bool
    viewer: NotRequired[str]
    createdAt: str


class FeedbackReceipt(TypedDict):
    """One receipt."""

    name: str
    viewer: str
    confirmedAt: str
    contentVersion: int


class Feedback(TypedDict):
    """The notes and receipts of a file."""

    notes: list[FeedbackNote]
    receipts: list[FeedbackReceipt]
