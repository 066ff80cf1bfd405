"""The topics of ``docshare help``."""

TOPICS = (
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
    "library",
    "looks",
    "mail",
    "measuring",
    "plans",
    "privacy",
    "proxy",
    "query",
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
