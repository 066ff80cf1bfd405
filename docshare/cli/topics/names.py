"""The topics of ``docshare help``."""

TOPICS = (
    "api",
    "apply",
    "backup",
    "ci",
    "cluster",
    "contributing",
    "cursors",
    "docker",
    "documents",
    "encryption",
    "environment",
    "exit-codes",
    "files",
    "formatting",
    "gates",
    "global",
    "house",
    "looks",
    "mail",
    "measuring",
    "plans",
    "privacy",
    "proxy",
    "python",
    "query",
    "readership",
    "server",
    "sharing",
    "systemd",
    "upgrade",
    "webhooks",
)

SAMPLES = {
    "ci": ("github.yml", "gitlab.yml", "publish.sh"),
    "cluster": ("docshare@.service", "nginx.conf"),
    "docker": ("Containerfile", "compose.yaml"),
}
"""The files that ``docshare help TOPIC --file NAME`` prints, in the folder ``samples``."""
