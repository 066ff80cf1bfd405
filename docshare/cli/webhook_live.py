"""The commands of ``docshare webhooks`` that talk to receivers, apart from the others as they load the most."""

from docshare.cli.listen import LISTENED, listen
from docshare.cli.replay import REPLAYED, replay
from docshare.cli.typer_compat import App

app = App()
app.command("listen", spec=LISTENED)(listen)
app.command("replay", spec=REPLAYED)(replay)
