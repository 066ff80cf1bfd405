"""``docshare webhooks listen``: the command. What it does stands in ``listening_sources``, which loads when it runs."""

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

    From the server on this machine (profile local, or --data DIR) come real deliveries with all attempts, as long as
    this runs. With --public-url a webhook is made at your tunnel and deleted at the end. From a server elsewhere
    (--bridge, the default there) the activity feed is read and each event is signed and posted here, with the header
    X-Docshare-Bridge: 1; it goes on where it stopped.

    Your program gets the raw body, the signature and the Webhook- headers, and verifies them with the secret that is
    shown at the start. What it refuses is tried again: by the server, or five times when bridging, which then ends with
    code 12 and begins with it the next time.

    A pipe gets tab-separated receivedAt, kind, fileName, verified, id, attempt, answer, forwards; --json one line of
    JSON per delivery, with the raw body as a text.

    Examples:

      docshare webhooks listen --forward-to http://localhost:3000/hook
      docshare webhooks listen --events file.viewed --status 500 --exit-after 2
      docshare webhooks listen --public-url https://bold-fox.example.com --port 4000 --save events.jsonl
      docshare --profile work webhooks listen --bridge --secret-file secret.txt --forward-to http://localhost:3000/hook
    """
    from docshare.cli.commands.webhooks.listen.run import run_listener

    ctx = current_context()
    ctx.endless = True
    return run_listener(ctx, given)
