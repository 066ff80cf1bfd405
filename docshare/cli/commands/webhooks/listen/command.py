"""``docshare webhooks listen``: the command. ``run`` implements it and is imported only when the command runs."""

from docshare.cli.commands.webhooks.listen.options import ListenOptions
from docshare.cli.commands.webhooks.listen.rows import DELIVERY_SPEC
from docshare.cli.framework.app import App
from docshare.cli.framework.context import current_context
from docshare.cli.framework.exits import ExitCode
from docshare.cli.framework.option_groups import add_options

app = App()


@app.command("listen", spec=DELIVERY_SPEC)
@add_options(ListenOptions)
def listen(given: ListenOptions) -> ExitCode:
    """Receive webhooks on this machine, without a tunnel.

    A server on this machine (profile local, or --data DIR) sends real deliveries with retries while the command runs.
    With --public-url, the command creates a webhook for the URL of your tunnel and deletes it at the end. For a server
    elsewhere, --bridge is the default: the command reads the activity feed, signs each event and posts it to your
    receiver with the header X-Docshare-Bridge: 1. The next run resumes where this one ended.

    Your receiver gets the raw body, the signature, and the Webhook- headers, and verifies them with the secret that is
    printed at the start. Rejected deliveries are retried by the server. A bridge tries five times, then exits with code
    12, and the next run resumes with the same event.

    Piped output is tab-separated: receivedAt, kind, fileName, verified, id, attempt, answer, forwards. --json prints a
    JSON line for each delivery, with the raw body as a string.

    Examples:

      docshare webhooks listen --forward-to http://localhost:3000/hook
      docshare webhooks listen --events file.viewed --status 500 --exit-after 2
      docshare webhooks listen --public-url https://bold-fox.example.com --port 4000 --save events.jsonl
      docshare --profile work webhooks listen --bridge --secret-file secret.txt --forward-to http://localhost:3000/hook
    """
    from docshare.cli.commands.webhooks.listen.run import run_listener

    ctx = current_context()
    ctx.is_endless = True
    return run_listener(ctx, given)
