"""SVG elements as text. Charts have no view box: their places are percentages, so that they grow with the page while
their words keep their size. No ``style`` attribute: the policy of the pages forbids it; classes do the rest."""

from markupsafe import Markup, escape


def element(name: str, *content: str, **attributes: object) -> Markup:
    """One element. Content that is not ``Markup`` is escaped; ``text_anchor`` becomes ``text-anchor`` and ``class_``
    ``class``; what is None is left out."""
    # Not Markup.format: a chart has hundreds of these, and that takes five times as long.
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{written}>{''.join(map(escape, content))}</{name}>")  # noqa: S704 - escaped right here


def percent(value: float) -> str:
    """A place or a length: ``12.5%``."""
    return f"{value:.3f}".rstrip("0").rstrip(".") + "%"


def tip(words: str) -> Markup:
    """What a pointer learns of the element it stands in."""
    return element("title", words)


def picture(key: str, title: str, description: str, *content: str, class_: str) -> Markup:
    """A drawing that a screen reader announces by ``title`` and ``description``; ``key`` is unique on the page."""
    return element(
        "svg",
        element("title", title, id=f"{key}-title"),
        element("desc", description, id=f"{key}-desc"),
        *content,
        class_=class_,
        role="img",
        aria_labelledby=f"{key}-title {key}-desc",
    )


def ornament(*content: str, class_: str) -> Markup:
    """A drawing that repeats what stands in words beside it."""
    return element("svg", *content, class_=class_, aria_hidden="true", focusable="false")
