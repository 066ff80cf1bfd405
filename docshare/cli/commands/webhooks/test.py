"""``docshare webhooks test``: send test events within the rate limit of the server."""

from collections import deque
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer

from docshare.cli.commands.webhooks.names import WEBHOOK_HELP, WebhookResolver
from docshare.cli.framework.app import App
from docshare.cli.framework.context import Context, current_context
from docshare.cli.framework.dry_run import print_requests
from docshare.cli.framework.exits import ExitCode
from docshare.cli.framework.options import duration_option
from docshare.cli.terminal.output import Spec
from docshare.cli.terminal.text import parse_duration
from docshare.contract.limits import SECOND, WEBHOOK_TEST
from docshare.contract.webhooks import TEST_RESULT_KEYS

app = App()

Row = Mapping[str, Any]

_MAX_REPEAT = 1000


def describe_result(result: Row) -> str:
    """Return the result of a test, such as ``delivered 200 in 143 ms``."""
    status, latency = result.get("status"), result.get("latencyMs")
    if result.get("delivered") is True:
        return f"delivered {status} in {latency} ms"
    return f"not delivered: {f'{status} in' if status else 'no response after'} {latency} ms"


def _render_row(row: Row, context: Context) -> Iterator[str]:
    yield context.out_screen.paint(
        "ok" if row.get("delivered") is True else "error", context.sanitize(describe_result(row))
    )


TEST_SPEC = Spec(plain=TEST_RESULT_KEYS, human=_render_row)


class _RateLimiter:
    """Spaces the tests of one run by ``every`` seconds and keeps them within the rate limit per token."""

    def __init__(self, context: Context, every: float) -> None:
        self._ctx = context
        self._every = every
        self._send_times: deque[float] = deque(maxlen=WEBHOOK_TEST.limit)

    def wait(self) -> None:
        """Block until the next test may be sent."""
        now = self._ctx.monotonic()
        due = self._send_times[-1] + self._every if self._send_times else now
        if len(self._send_times) == self._send_times.maxlen:
            due = max(due, self._send_times[0] + WEBHOOK_TEST.window_ms / SECOND)
        if due > now:
            self._ctx.sleep(due - now)
        self._send_times.append(self._ctx.monotonic())


@app.command("test", spec=TEST_SPEC)
def send_tests(
    webhook: Annotated[str, typer.Argument(metavar="WEBHOOK", help=WEBHOOK_HELP)],
    repeat: Annotated[
        int, typer.Option("--repeat", min=1, max=_MAX_REPEAT, metavar="N", help="Number of test events.")
    ] = 1,
    every: Annotated[str, duration_option("Time between two test events.")] = "6s",
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="Print the requests without sending them.")] = False,
) -> ExitCode:
    """Send a test event and print the response.

    The event is webhook.test, regardless of the kinds and the file of the webhook. It is sent once, does not appear in
    the delivery log and does not count toward disabling the webhook. The server allows 10 tests per minute; --repeat
    waits as needed.

    Each test prints a line. Piped output is tab-separated: delivered, status, latencyMs; --json prints a JSON line for
    each test. The exit code is 13 if any test was not delivered. A status of 0 means that there was no response.

    Examples:

      docshare webhooks test 6f1c2e9a
      docshare webhooks test https://hooks.example.com/docshare --repeat 20 --every 3s
    """
    ctx = current_context()
    printer = ctx.emitter(TEST_SPEC)
    with ctx.client() as client:
        uuid = WebhookResolver(ctx, client).resolve_uuid(webhook)
        if dry_run:
            return print_requests(ctx, [("POST", f"/api/v1/webhooks/{uuid}/test", "")] * repeat)
        spacing = _RateLimiter(ctx, parse_duration(every))
        failed = False
        for _ in range(repeat):
            spacing.wait()
            result = client.webhooks.test(uuid)
            printer.emit_row(result)
            failed = failed or result.get("delivered") is not True
    return ExitCode.CHECK_FAILED if failed else ExitCode.OK
