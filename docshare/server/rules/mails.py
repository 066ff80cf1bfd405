"""Mails: when to retry, whom no mail can reach, and which characters a header can contain. Pure."""

import re
from html import escape

from docshare.contract.limits import HOUR, MINUTE
from docshare.contract.plans import DAY

# The delay after failure 1, 2, ...: no mail is lost if a mail server is down for a night.
RETRY_MS = (MINUTE, 10 * MINUTE, HOUR, 6 * HOUR, DAY)
_ADDRESS = re.compile(r"[^@\s\x00-\x1f\x7f]{1,64}@[^@\s\x00-\x1f\x7f]{1,189}")
_SUBJECT_CHARS = 200
_INDENT = "    "
_HTML_TEMPLATE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; supported-color-schemes: light dark; }}
body {{ font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 38em; padding: 1.5em; }}
.apart {{ border-left: 3px solid #8888; margin-left: 0; padding-left: 1em; overflow-wrap: anywhere; }}
.above {{ max-height: 56px; max-width: 240px; }}
a {{ color: #0b57d0; overflow-wrap: anywhere; }}
@media (prefers-color-scheme: dark) {{ a {{ color: #8ab4f8; }} }}
</style>
</head>
<body>
{body}
</body>
</html>
"""
_FORBIDDEN_HEADER_CHARS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")


def next_attempt_at(failures: int, now: int) -> int | None:
    """Return when a mail that failed ``failures`` times is retried, in ms; None: never."""
    return now + RETRY_MS[failures - 1] if failures <= len(RETRY_MS) else None


def is_address(email: str) -> bool:
    """Return whether ``email`` can be the address of an account."""
    return _ADDRESS.fullmatch(email) is not None


def is_placeholder(email: str) -> bool:
    """Return whether no mail can reach ``email``: the address of an owner who has not set a real one."""
    return email.casefold().endswith("@localhost")


def sanitize_header(text: str) -> str:
    """Return ``text`` made safe for a header: without line breaks and control characters, also encoded ones, and
    truncated."""
    # The library decodes "=?utf-8?q?=0D=0A?=" and writes the result into the message.
    line = " ".join(_FORBIDDEN_HEADER_CHARS.sub(" ", text).replace("=?", "= ?").split())
    return line if len(line) <= _SUBJECT_CHARS else line[: _SUBJECT_CHARS - 1] + "\u2026"


def render_html(title: str, text: str, base_url: str, image_id: str = "") -> str:
    """Return ``text`` as an HTML document: light or dark as the reader prefers, without external resources.

    Parameters: ``base_url`` of this server. Only addresses that begin with it become links, because the rest of the
    text may come from readers. Indented lines are set off. ``image_id``: Content-ID of the image above the text.
    """
    above = [f'<p><img src="cid:{image_id}" alt="" class="above"></p>'] if image_id else []
    parts = above + [_render_block(part, base_url) for part in re.split(r"\n{2,}", text.strip("\n"))]
    return _HTML_TEMPLATE.format(title=escape(title), body="\n".join(parts))


def _render_block(part: str, base_url: str) -> str:
    lines = part.split("\n")
    quoted = all(line.startswith(_INDENT) for line in lines)
    words = "<br>\n".join(_link_urls(line[len(_INDENT) :] if quoted else line, base_url) for line in lines)
    return f'<p class="apart">{words}</p>' if quoted else f"<p>{words}</p>"


def _link_urls(line: str, base_url: str) -> str:
    pieces = re.split(f"({re.escape(base_url)}/[!-~]*)", line)
    return "".join(
        f'<a href="{escape(piece)}">{escape(piece)}</a>' if place % 2 else escape(piece)
        for place, piece in enumerate(pieces)
    )


def mail_state(attempts: int, next_at: int | None, sent_at: int | None) -> str:
    """Return ``sent``, ``queued``, ``failed`` (no more retries), or ``kept``: written while no mail server was
    configured, or to an owner without a real address."""
    if sent_at is not None:
        return "sent"
    if next_at is not None:
        return "queued"
    return "failed" if attempts else "kept"
