"""Events as Slack messages: texts of readers and file names are never markup."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from docshare.contract import slack

BASE = "https://docs.example"
UUID = "5e03cf21-0a27-416c-a508-128377fde76a"
LINK = f"<{BASE}/readership/{UUID}|Open the readership report>"
FILE = {"fileUuid": UUID, "fileName": "Q3.pdf"}

# Slack interprets mentions, channels, commands, links and dates between < and >.
PAYLOADS = (
    "<!channel>", "<!here>", "<!everyone>", "<!subteam^S012AB3CD>", "<!subteam^S012AB3CD|@ops>", "<@U012AB3CD>",
    "<@W012AB3CD|boss>", "<#C012AB3CD>", "<#C012AB3CD|general>", "<http://evil.example|Q3.pdf>",
    "<https://evil.example|Open the readership report>", "<mailto:a@evil.example|write>", "<tel:+1900|call>",
    "<!date^1392734382^{date}|x>", "<!date^1^{date}^https://evil.example|x>", "<slack://open|x>", "<|>", "<>",
    "<<!here>>",
    "&lt;!channel&gt;", "&amp;lt;!channel&amp;gt;", "&#60;!channel&#62;", ">quoted", "> <!here>", "a\n<!channel>\nb",
    "Q3.pdf\n<!here>", "x\r<!here>", "x\u2028<!here>", "x\u0000<!here>", "`<!channel>`", "```\n<!channel>\n```",
    "*<!channel>*", "_<@U012AB3CD>_", "~<!here>~", "</section><!channel>", "\"}]}<!channel>", "\u202e<!channel>",
    "<\u200b!channel>", "<!channel", "<javascript:alert(1)|x>", "%3C!channel%3E<!here>", "<http://a|b|c>",
)  # fmt: skip
CONTROL = re.compile("<[^>]*>")


def render_message(event: str, **data: Any) -> dict[str, Any]:
    return slack.render_message({"event": event, "timestamp": "2026-09-21T14:13:20.000Z", "data": data}, BASE)


def list_texts(message: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield type and text of every text object, and of the fallback."""
    yield "fallback", message["text"]
    for block in message["blocks"]:
        for text in block.get("fields", [block["text"]] if "text" in block else []):
            yield text["type"], text["text"]


def make_plain_text(text: str) -> dict[str, Any]:
    return {"type": "plain_text", "text": text, "emoji": False}


def test_a_message_has_header_file_name_extras_and_link() -> None:
    """A message has blocks for the file name, extras as fields, and a link to the readership page."""
    message = render_message("file.viewed", **FILE, pagesViewed=3, timeMs=102_000, sessionId="s-1", variantLabel="Ada")
    assert message == {
        "text": "Document viewed: Q3.pdf",
        "mrkdwn": False,
        "blocks": [
            {"type": "header", "text": make_plain_text("Document viewed")},
            {"type": "section", "text": make_plain_text("Q3.pdf")},
            {
                "type": "section",
                "fields": [
                    make_plain_text("Pages viewed:\n3"),
                    make_plain_text("Reading time:\n1m 42s"),
                    make_plain_text("Session:\ns-1"),
                    make_plain_text("Personal link:\nAda"),
                ],
            },
            {"type": "section", "text": {"type": "mrkdwn", "text": LINK, "verbatim": True}},
        ],
    }


def test_an_event_without_extras_has_no_fields() -> None:
    message = render_message("file.burned", **FILE)
    assert [block["type"] for block in message["blocks"]] == ["header", "section", "section"]
    assert not any("fields" in block for block in message["blocks"])


@pytest.mark.parametrize(
    ("event", "title"),
    [
        ("file.viewed", "Document viewed"),
        ("file.downloaded", "Document downloaded"),
        ("gate.completed", "Gate completed"),
        ("note.created", "New note"),
        ("receipt.confirmed", "Receipt confirmed"),
        ("file.burned", "View limit reached, document deleted"),
        ("content.replaced", "Document replaced"),
        ("invite.viewed", "Invitation opened"),
        ("proofing.updated", "Proofing started"),
        ("webhook.test", "Test delivery"),
        ("file.renamed", "file.renamed"),
    ],
)
def test_every_event_type_has_a_title(event: str, title: str) -> None:
    message = render_message(event, **FILE)
    assert (message["blocks"][0]["text"]["text"], message["text"]) == (title, f"{title}: Q3.pdf")


def test_a_test_delivery_without_a_file_has_no_link() -> None:
    assert render_message("webhook.test") == {
        "text": "Test delivery",
        "mrkdwn": False,
        "blocks": [{"type": "header", "text": make_plain_text("Test delivery")}],
    }


def test_form_answers_are_separate_fields() -> None:
    answers = {f"Question {number}": f"answer {number}" for number in range(12)}
    message = render_message("gate.completed", **FILE, source="form", email="ada@a.example", fields=answers)
    sections = [block["fields"] for block in message["blocks"] if "fields" in block]
    assert [len(fields) for fields in sections] == [10, 4]
    assert [field["text"] for field in sections[0]][:3] == [
        "Source:\nform",
        "Email:\nada@a.example",
        "Question 0:\nanswer 0",
    ]
    assert sections[1][-1]["text"] == "Question 11:\nanswer 11"


@pytest.mark.parametrize("payload", PAYLOADS)
def test_user_text_never_becomes_a_control_sequence(payload: str) -> None:
    """Each payload is in the file name, a note, a name, a label, an answer and its key."""
    events = (
        render_message("note.created", fileUuid=UUID, fileName=payload, author=payload, body=payload, pageNumber=1),
        render_message("file.viewed", **FILE, variantUuid="v", variantLabel=payload),
        render_message("receipt.confirmed", **FILE, name=payload),
        render_message("gate.completed", **FILE, source="form", email=payload, fields={payload: payload}),
        render_message(payload, **FILE, **{payload: payload}),
    )
    for message in events:
        found = list(list_texts(message))
        assert [text for _, text in found if CONTROL.search(text)] == [LINK]
        assert [text for kind, text in found if kind == "mrkdwn"] == [LINK]
        assert not [text for _, text in found if text != LINK and re.search("[<>]|&(?!amp;|lt;|gt;)", text)]
        for _, text in found:
            label, line, value = text.partition(":\n")
            assert "\n" not in (value if line else label), "a value looks like another field"
            assert (label + value).isprintable()


def test_at_least_forty_payloads_are_tested() -> None:
    assert len(set(PAYLOADS)) >= 40


def test_text_is_escaped_and_its_white_space_normalized() -> None:
    message = render_message("note.created", **FILE, author="Ann & Bob", body="  a < b\n\tand  *c* > d  ")
    assert [field["text"] for field in message["blocks"][2]["fields"]] == [
        "Author:\nAnn &amp; Bob",
        "Note:\na &lt; b and *c* &gt; d",
    ]


@pytest.mark.parametrize("character", ["a", "&", "<", "\U0001f642", "é", "\ud800", " "])
def test_texts_are_truncated_to_the_limits_of_slack(character: str) -> None:
    """Limits: header 150, field 2000, text 3000. Slack rejects longer messages; escapes must not be truncated."""
    long = character * 3_100
    answers = {f"{number}{long}": long for number in range(12)}
    message = render_message(long, fileUuid=UUID, fileName=long, author=long, body=long, fields=answers)
    header, name, *rest = message["blocks"]

    def size(text: str) -> int:
        return len(text.encode("utf-16-le", "surrogatepass")) // 2

    assert 1 <= size(header["text"]["text"]) <= 150
    assert 1 <= size(name["text"]["text"]) <= 3000
    assert size(message["text"]) <= 3000
    sections = [block["fields"] for block in rest if "fields" in block]
    assert all(len(fields) <= 10 for fields in sections)
    assert all(1 <= size(field["text"]) <= 2000 for fields in sections for field in fields)
    for _, text in list_texts(message):
        assert text == LINK or not re.search("&(?!amp;|lt;|gt;)", text)
    json.dumps(message, ensure_ascii=False).encode()


def test_a_message_has_at_most_50_blocks() -> None:
    message = render_message("gate.completed", **FILE, fields={str(number): "x" for number in range(1_000)})
    assert len(message["blocks"]) <= 50


def test_a_truncated_text_ends_with_an_ellipsis() -> None:
    (field,) = render_message("note.created", body="ab" * 2_000)["blocks"][1]["fields"]
    assert field["text"] == "Note:\n" + "ab" * 996 + "a" + "…"
    assert len(field["text"]) == 2_000
