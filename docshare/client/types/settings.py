"""Settings of files."""

from typing import Literal, NotRequired, TypedDict

ViewerMode = Literal["standard", "flipbook", "swipe", "magazine"]

PageRange = TypedDict("PageRange", {"from": int, "to": int})
"""The pages that readers get, counted from 1; both 0: all."""


class BackgroundSettings(TypedDict, total=False):
    """The background of the viewer."""

    type: Literal["solid", "gradient", "image"]
    color: str
    preset: Literal["dusk", "sand", "slate", "forest", "blush", "mono"]
    assetId: str
    fit: Literal["cover", "contain"]
    blur: int
    dim: int


class LogoSettings(TypedDict, total=False):
    """The logo of the viewer."""

    assetId: str
    position: Literal["tl", "tr", "bl", "br"]
    size: Literal["s", "m", "l", "xl"]
    linkUrl: str
    hideBadge: bool


class PageSettings(TypedDict, total=False):
    """The look of the pages."""

    shadow: int
    rounded: int
    edges: bool
    coverAlone: bool


class FlipSettings(TypedDict, total=False):
    """The flipbook mode."""

    speedMs: int
    sound: bool
    rtl: bool
    layout: Literal["adaptive", "single", "double"]


class SwipeSettings(TypedDict, total=False):
    """The swipe mode."""

    autoAdvance: bool
    intervalMs: int


class ProtectSettings(TypedDict, total=False):
    """Soft deterrents; a true value blocks."""

    contextMenu: bool
    print: bool
    select: bool
    blurOnLeave: bool


class BrandSettings(TypedDict, total=False):
    """The colors of the toolbar."""

    accentColor: str
    toolbarTheme: Literal["light", "dark", "auto"]
    badgePosition: Literal["tl", "tr", "bl", "br"]


class CtaSettings(TypedDict):
    """The button of the viewer."""

    label: str
    url: str
    style: NotRequired[Literal["solid", "outline"]]
    color: NotRequired[str]
    position: NotRequired[Literal["tl", "tr", "bl", "br", "bar"]]


class WatermarkSettings(TypedDict, total=False):
    """The look of the watermark."""

    opacity: float
    density: Literal["sparse", "normal", "dense"]


class ViewerSettings(TypedDict, total=False):
    """The appearance of the viewer; only deviations from the defaults."""

    background: BackgroundSettings
    logo: LogoSettings
    page: PageSettings
    flip: FlipSettings
    swipe: SwipeSettings
    protect: ProtectSettings
    ga4Id: str
    brand: BrandSettings
    cta: CtaSettings
    watermarkStyle: WatermarkSettings


class GateField(TypedDict):
    """One field of the form before the document."""

    key: str
    label: str
    type: Literal["text", "email", "phone", "company"]
    required: NotRequired[bool]


class FileSettings(TypedDict, total=False):
    """Settings of a file; a write changes the keys that are present."""

    viewerMode: ViewerMode
    password: str
    allowDownload: bool
    showExpiry: bool
    readerChoice: bool | None
    showSender: bool
    requireEmail: bool
    notifyOnView: bool
    deleteAt: str
    neverExpire: bool
    viewLimit: int
    pageRange: PageRange
    gateFields: list[GateField] | None
    gateDomains: list[str]
    askReceipt: bool
    commentsEnabled: bool
    commentsAllowPublic: bool
    notifyOnComment: bool
    marksEnabled: bool
    annotationsEnabled: bool
    watermark: bool
    slug: str
    viewerSettings: ViewerSettings
    detachDesignToolDesign: bool
    designToolUpdatesEnabled: bool
