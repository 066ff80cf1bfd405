"""The two tasks of a worker thread: run the application, or send the refusal of a request that it never sees."""

import logging
from http.client import responses
from typing import Any

from waitress.channel import ClientDisconnected
from waitress.task import Task, WSGITask

from docshare.server.http.file_body import FileBody
from docshare.server.http.multipart import FORM_ERROR_KEY, FORM_KEY
from docshare.server.http.verdicts import Refusal

LOGGER = logging.getLogger("docshare.listener")
_OVERLOAD_STATUSES = ("429", "503")


class _ServerHeadersMixin:
    """Adds the ``headers`` of ``make_server`` to every response, including errors of waitress."""

    channel: Any
    response_headers: list[tuple[str, str]]

    def build_response_header(self) -> bytes:
        """Build the header block. waitress calls this once for each response."""
        self.response_headers.extend(self.channel.server.hooks.headers)
        header: bytes = super().build_response_header()  # type: ignore[misc]  # of the task class
        return header


class RefusalTask(_ServerHeadersMixin, Task):  # type: ignore[misc]  # waitress has no types
    """Sends the response to a request that the application never sees."""

    complete = True

    def execute(self) -> None:
        """Send the response. waitress calls this in a worker thread."""
        if self.request.has_unread_body:
            self.set_close_on_finish()
        error = self.request.error
        # waitress stores an error here if a response could not be written as a header block.
        _send_refusal(
            self, error if isinstance(error, Refusal) else self.request.build_refusal(500, "The server failed.")
        )


class ApplicationTask(_ServerHeadersMixin, WSGITask):  # type: ignore[misc]
    """Runs the application, with the form of an upload in its environment."""

    wrote_header: bool
    status: str

    def start(self) -> None:
        """Start the task. waitress calls this before ``execute``."""
        super().start()
        if self.request.has_unread_body or self.channel.server.is_stopping:
            self.set_close_on_finish()

    def build_response_header(self) -> bytes:
        """Build the header block. waitress calls this once for each response."""
        if self.status.startswith(_OVERLOAD_STATUSES):
            self.channel.postpone()
        return super().build_response_header()

    def get_environment(self) -> dict[str, Any]:
        """Return the WSGI environment, with the form or its error."""
        environ: dict[str, Any] = super().get_environment()
        environ["wsgi.file_wrapper"] = FileBody
        if self.request.form is not None:
            environ[FORM_KEY] = self.request.form
        if self.request.form_error is not None:
            environ[FORM_ERROR_KEY] = self.request.form_error
        return environ

    def execute(self) -> None:
        """Run the application. waitress calls this in a worker thread."""
        # Handle errors here: waitress would log the path of the request, which can contain link ids.
        try:
            self.request.finish_form()
            if self.request.error is None:
                super().execute()
            else:
                self.complete = True
                _send_refusal(self, self.request.error)
        except ClientDisconnected:
            self.close_on_finish = True
        except Exception as error:  # noqa: BLE001 - the sender gets an error, and the log has the reason
            failure = self.request.build_failure(error)
            if not self.wrote_header:
                self.complete = True
                self.response_headers.clear()
                self.set_close_on_finish()
                _send_refusal(self, failure)
            self.close_on_finish = True

    def write(self, data: bytes) -> None:
        """Write a block of the body.

        The header block is sent with the first block: a small response that takes two sends makes its thread release
        the interpreter twice, and wakes the reader twice.
        """
        if data and self.has_body and self.complete and not self.wrote_header:
            self.channel.pending_header = self.build_response_header()
            self.wrote_header = True
        super().write(data)
        if self.channel.pending_header:  # waitress wrote nothing, because the declared Content-Length is 0
            self.channel.write_soon(b"")


def _send_refusal(task: Task, refusal: Refusal) -> None:
    # The path is not logged: it can contain link ids.
    request_id = next((value for name, value in refusal.headers if name == "X-Request-Id"), None)
    facts = {
        "method": task.request.command or None,
        "status": refusal.status,
        "request": request_id,
        "client": task.channel.find_client(),
    }
    LOGGER.info("refused", extra=facts)
    task.status = f"{refusal.status} {responses.get(refusal.status, 'Refused')}"
    task.response_headers.extend(refusal.headers)
    task.content_length = len(refusal.body)
    task.write(b"" if task.request.command == "HEAD" else refusal.body)
