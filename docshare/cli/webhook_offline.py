"""The commands of ``docshare webhooks`` that send nothing, apart from the others so that each loads what it needs."""

from docshare.cli.typer_compat import App
from docshare.cli.webhook_tools import KINDS, SAMPLE, SIGNED, VERDICT, kinds, sample, sign_body, verify_body

app = App()
app.command("kinds", spec=KINDS)(kinds)
app.command("sample", spec=SAMPLE)(sample)
app.command("sign", spec=SIGNED)(sign_body)
app.command("verify", spec=VERDICT)(verify_body)
