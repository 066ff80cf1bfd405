"""Every command there is, typed by hand: what it does to the world, and a line that runs.

Words in braces are things of the town (``town.py``), where they are made when a line needs them.
"""

from __future__ import annotations

from typing import NamedTuple

# What a command does:
#   change   sends a change to the server         write    changes something of the user's on this machine
#   read     asks the server                      offline  neither; a file that was asked for may be made
#   order    lets an operator change an instance  inspect  lets an operator look at one
#   run      works until it is stopped, and takes along what it made
#   other    looks at much at once, and has tests of its own
KINDS = ("change", "read", "write", "offline", "order", "inspect", "run", "other")


class Leaf(NamedTuple):
    """``line``: without ``docshare``. ``operations``: what it asks of the server, in this order, on a good day;
    ``code``: how it ends then."""

    kind: str
    line: str
    operations: str = ""
    code: int = 0

    @property
    def asks(self) -> list[str]:
        """The operations by name."""
        return self.operations.split()


LEAVES: dict[str, Leaf] = {
    "upload": Leaf("change", "upload {deck}", "files.upload"),
    "import": Leaf("change", "import {source}", "files.import"),
    "files download": Leaf("read", "files download {file} -o {out}", "files.download"),
    "files replace": Leaf("change", "files replace {own} {deck} --yes", "files.replace"),
    "files list": Leaf("read", "files list", "files.list"),
    "files show": Leaf("read", "files show {file}", "files.get"),
    "files delete": Leaf("change", "files delete {own} --yes", "files.delete"),
    "files restore": Leaf("change", "files restore {trashed}", "files.restore"),
    "files wait": Leaf("read", "files wait {file} --views 1 --timeout 1s", "files.get"),
    "settings get": Leaf("read", "settings get {file}", "files.get"),
    "settings set": Leaf("change", "settings set {own} viewLimit=3", "files.settings files.get"),
    "settings clear": Leaf("change", "settings clear {own} viewLimit", "files.settings files.get"),
    "settings schema": Leaf("offline", "settings schema viewLimit"),
    "settings export": Leaf("read", "settings export {file}", "files.get"),
    "settings apply": Leaf("change", "settings apply {own} -f {settings}", "files.settings files.get"),
    "settings copy": Leaf("change", "settings copy {file} {own}", "files.get files.get files.settings files.get"),
    "ls": Leaf("read", "ls", "files.list"),
    "show": Leaf("read", "show {file}", "files.get"),
    "rm": Leaf("change", "rm {own} --yes", "files.delete"),
    "download": Leaf("read", "download {file} -o {out}", "files.download"),
    "replace": Leaf("change", "replace {own} {deck} --yes", "files.replace"),
    "claim": Leaf("change", "claim --token-file {claim}", "files.claim"),
    "variants create": Leaf("change", "variants create {own} --label Bob", "variants.list variants.create"),
    "variants list": Leaf("read", "variants list {file}", "variants.list"),
    "variants show": Leaf("read", "variants show {variant} --file {file}", "variants.list"),
    "variants update": Leaf(
        "change", "variants update {variant} --file {file} --label Ann", "variants.list variants.update"
    ),
    "variants revoke": Leaf("change", "variants revoke {guest} --file {file} --yes", "variants.list variants.update"),
    "variants restore": Leaf("change", "variants restore {guest} --file {file}", "variants.list variants.update"),
    "variants delete": Leaf("change", "variants delete {guest} --file {file} --yes", "variants.list variants.delete"),
    "variants redact": Leaf("change", "variants redact {guest} --file {file} --yes", "variants.list variants.delete"),
    "variants export": Leaf("read", "variants export {file} --out {out}", "variants.list readership.report"),
    "invites list": Leaf("read", "invites list {file}", "invites.list"),
    "invites create": Leaf("change", "invites create {own} eve@example.com --no-mail", "invites.create"),
    "assets add": Leaf("change", "assets add {own} {logo} --kind logo", "assets.create"),
    "design import": Leaf(
        "change", "design import {source} --jwt-file {jwt} --design-token-file {design}", "design.import"
    ),
    "design status": Leaf("read", "design status --jwt-file {jwt} --design-token-file {published}", "design.status"),
    "qr": Leaf("read", "qr {file} -o {out}", "files.qr"),
    "push": Leaf("change", "push {deck} --slug {slug}", "files.list account.get files.upload files.settings"),
    "apply": Leaf(
        "change", "apply {sharing} --yes", "account.get files.list files.upload files.get files.settings files.get"
    ),
    "lint": Leaf("other", "lint {deck}"),
    "public upload": Leaf("change", "public upload {deck}", "public.upload"),
    "public metadata": Leaf("read", "public metadata {link}", "public.metadata"),
    "public oembed": Leaf("read", "public oembed {link}", "oembed.get"),
    "public qr": Leaf("read", "public qr {link} -o {out}", "public.qr"),
    "open": Leaf("read", "open {file}", "files.get"),
    "events list": Leaf("read", "events list", "events.list"),
    "events tail": Leaf("read", "events tail --once --from start", "events.list events.list"),
    "events cursor list": Leaf("offline", "events cursor list"),
    "events cursor show": Leaf("offline", "events cursor show {cursor}"),
    "events cursor set": Leaf("write", "events cursor set {cursor} 5"),
    "events cursor reset": Leaf("write", "events cursor reset {cursor}"),
    "gate list": Leaf("read", "gate list", "gate.list"),
    "gate tail": Leaf("read", "gate tail --once --from start", "gate.list gate.list"),
    "readership show": Leaf("read", "readership show {file}", "readership.report"),
    "readership pages": Leaf("read", "readership pages {file}", "readership.pages"),
    "readership sessions": Leaf("read", "readership sessions {file}", "readership.sessions readership.sessions"),
    "readership marks": Leaf("read", "readership marks {file}", "readership.marks"),
    "readership annotations": Leaf("read", "readership annotations {file}", "readership.annotations"),
    "readership notes": Leaf("read", "readership notes {file}", "readership.feedback"),
    "readership export": Leaf(
        "read",
        "readership export {file} -o {out}",
        "readership.report readership.pages readership.sessions readership.sessions readership.feedback "
        "readership.marks readership.annotations variants.list",
    ),
    "readership report": Leaf(
        "read",
        "readership report {file} -o {out}",
        "readership.report readership.pages readership.marks readership.annotations readership.feedback files.download",
    ),
    "pending": Leaf(
        "read",
        "pending {file}",
        "files.get variants.list invites.list readership.sessions readership.sessions",
        code=13,
    ),
    "wait": Leaf("read", "wait {file} --timeout 1s", "readership.sessions files.get"),
    "explain": Leaf("read", "explain {visit} --file {file}", "readership.session"),
    "webhooks create": Leaf("change", "webhooks create {hook} --all", "webhooks.create"),
    "webhooks list": Leaf("read", "webhooks list", "webhooks.list"),
    "webhooks show": Leaf("read", "webhooks show {webhook}", "webhooks.list"),
    "webhooks delete": Leaf("change", "webhooks delete {spare} --yes", "webhooks.list webhooks.delete"),
    "webhooks enable": Leaf("change", "webhooks enable {webhook}", "webhooks.list webhooks.enable"),
    "webhooks test": Leaf("change", "webhooks test {webhook}", "webhooks.test"),
    "webhooks deliveries": Leaf("read", "webhooks deliveries {webhook}", "webhooks.deliveries"),
    "webhooks redeliver": Leaf("change", "webhooks redeliver {webhook} {delivery}", "webhooks.redeliver"),
    "webhooks prune": Leaf("change", "webhooks prune --url-prefix {old} --yes", "webhooks.list webhooks.delete"),
    "webhooks listen": Leaf("run", "webhooks listen"),
    "webhooks verify": Leaf(
        "offline", "webhooks verify {body} --secret-file {secret} --signature {signature} --at 1790000000"
    ),
    "webhooks sign": Leaf("offline", "webhooks sign {body} --secret-file {secret}"),
    "webhooks kinds": Leaf("offline", "webhooks kinds"),
    "webhooks sample": Leaf("offline", "webhooks sample file.viewed"),
    "webhooks replay": Leaf("change", "webhooks replay {saved} --to {hook} --secret-file {secret}"),
    "whoami": Leaf("read", "whoami", "account.get"),
    "serve": Leaf("run", "serve --port 0"),
    "dashboard": Leaf("order", "dashboard --print"),
    "trigger": Leaf("order", "trigger file.viewed --file {file}"),
    "admin invite": Leaf("order", "admin invite {file} ann@example.com"),
    "admin freeze": Leaf("order", "admin freeze {file}"),
    "admin unfreeze": Leaf("order", "admin unfreeze {file}"),
    "admin login-link": Leaf("order", "admin login-link pia@example.com"),
    "admin sweep": Leaf("order", "admin sweep"),
    "admin backup": Leaf("order", "admin backup {out}"),
    "admin restore": Leaf("order", "admin restore {out}"),
    "admin check": Leaf("order", "admin check --repair"),
    "admin account create": Leaf("order", "admin account create ada@example.com --tier basic"),
    "admin account list": Leaf("inspect", "admin account list"),
    "admin account set-tier": Leaf("order", "admin account set-tier pia@example.com free"),
    "admin account delete": Leaf("order", "admin account delete pia@example.com"),
    "admin key create": Leaf("order", "admin key create pia@example.com --name ci"),
    "admin key list": Leaf("inspect", "admin key list pia@example.com"),
    "admin key revoke": Leaf("order", "admin key revoke 6f1c2e9a-3b0d-4d53-9a51-0c8d3f5f8f10"),
    "admin trash list": Leaf("inspect", "admin trash list pia@example.com"),
    "admin trash restore": Leaf("order", "admin trash restore {file}"),
    "admin trash purge": Leaf("order", "admin trash purge {file}"),
    "admin outbox list": Leaf("inspect", "admin outbox list"),
    "admin outbox show": Leaf("inspect", "admin outbox show {mail}"),
    "admin hotspot add": Leaf("order", "admin hotspot add {file} --page 1 --rect 0,0,1,1 --link https://example.com"),
    "admin hotspot list": Leaf("inspect", "admin hotspot list {file}"),
    "admin hotspot remove": Leaf("order", "admin hotspot remove 6f1c2e9a-3b0d-4d53-9a51-0c8d3f5f8f10"),
    "admin deliveries list": Leaf("inspect", "admin deliveries list"),
    "admin deliveries show": Leaf("inspect", "admin deliveries show {delivery}"),
    "admin deliveries retry": Leaf("order", "admin deliveries retry {delivery}"),
    "admin client create": Leaf("order", "admin client create Sales --redirect-uri https://sales.example.com/back"),
    "admin client list": Leaf("inspect", "admin client list"),
    "admin client remove": Leaf("order", "admin client remove hV3kR9sQ2tWz7YbN4mXc"),
    "auth login": Leaf("write", "auth login --with-token --profile mine"),
    "auth status": Leaf("read", "auth status", "account.get"),
    "auth token": Leaf("offline", "auth token"),
    "auth refresh": Leaf("write", "auth refresh --profile granted"),
    "auth logout": Leaf("write", "auth logout --profile granted"),
    "config list": Leaf("offline", "config list --origin"),
    "config get": Leaf("offline", "config get url"),
    "config set": Leaf("write", "config set format json"),
    "config unset": Leaf("write", "config unset url"),
    "config path": Leaf("offline", "config path"),
    "config edit": Leaf("write", "config edit"),
    "doctor": Leaf("other", "doctor"),
    "discover": Leaf("read", "discover", "discovery.get"),
    "api": Leaf("change", "api PUT /files/{own}/settings -F viewLimit=3", "files.settings"),
    "profile list": Leaf("offline", "profile list"),
    "profile current": Leaf("offline", "profile current --profile work"),
    "profile use": Leaf("write", "profile use granted"),
    "profile add": Leaf("write", "profile add fresh --url https://docs.example --with-token"),
    "profile remove": Leaf("write", "profile remove work"),
    "completion": Leaf("offline", "completion bash"),
    "help": Leaf("offline", "help exit-codes"),
}

# Operations that no command is made for, and those that a command asks for only with an option.
ELSEWHERE: dict[str, str] = {
    "activity.list": "events list --type activity",
    "openapi.get": "api GET /openapi.json",
    "session.files.upload": "api POST /api/account/files {session} --form file=@{deck}",
    "session.files.replace": "api POST /api/account/files/{own}/content {session} --form file=@{deck}",
    "session.assets.create": "api POST /api/account/files/{own}/assets {session} --form file=@{logo} --form kind=logo",
    "session.webhooks.list": "api GET /api/webhooks {session}",
    "session.webhooks.create": """api POST /api/webhooks {session} -f url={hook} -F 'events:=["file.viewed"]'""",
    "session.webhooks.delete": "api DELETE /api/webhooks/{spare} {session}",
    "session.webhooks.test": "api POST /api/webhooks/{webhook}/test {session}",
}
