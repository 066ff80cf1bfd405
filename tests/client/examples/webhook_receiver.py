"""Receive webhooks with Flask."""

import os

from flask import Flask, Response, request

from docshare import ClientError, parse_event

app = Flask(__name__)
seen: list[str] = []


@app.post("/docshare")
def receive() -> Response:
    try:
        event = parse_event(
            os.environ["WEBHOOK_SECRET"], request.get_data(), request.headers.get("X-Service-Signature")
        )
    except ClientError as error:
        return Response(error.detail, 400)
    if event["event"] == "file.viewed":
        seen.append(f"{event['data']['fileName']}: {event['data']['timeMs']} ms")
    elif event["event"] == "note.created":
        seen.append(f"{event['data']['author']}: {event['data']['body']}")
    return Response(status=204)
