"""SVG elements as text. Charts have no view box: positions are percentages, so that charts grow with the page while
text keeps its size. Elements use classes, because the content security policy forbids ``style`` attributes."""

from markupsafe import Markup, escape


def element(name: str, *content: str, **attributes: object) -> Markup:
    """Return one element. Content that is not ``Markup`` is escaped; ``text_anchor`` becomes ``text-anchor`` and
    ``class_`` becomes ``class``; attributes that are None are omitted."""
    # Markup.format takes five times as long, and a chart has hundreds of elements.
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{written}>{''.join(map(escape, content))}</{name}>")  # noqa: S704 - escaped right here


def format_length(value: float) -> str:
    """Return a position or length: ``12.5%``."""
    return f"{value:.3f}".rstrip("0").rstrip(".") + "%"


def tooltip(words: str) -> Markup:
    """Return the tooltip of an element."""
    return element("title", words)


def described_svg(key: str, title: str, description: str, *content: str, class_: str) -> Markup:
    """Return an image that screen readers announce by ``title`` and ``description``; ``key`` is unique on the page."""
    return element(
        "svg",
        element("title", title, id=f"{key}-title"),
        element("desc", description, id=f"{key}-desc"),
        *content,
        class_=class_,
        role="img",
        aria_labelledby=f"{key}-title {key}-desc",
    )


def decorative_svg(*content: str, class_: str) -> Markup:
    """Return an image that screen readers skip, because the text beside it has the same information."""
    return element("svg", *content, class_=class_, aria_hidden="true", focusable="false")
