"""Change the default profile."""

from docshare.cli.framework.context import Context
from docshare.cli.framework.dry_run import preview_changes
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.local import cache
from docshare.cli.local.config import use_profile


def make_default(ctx: Context, name: str, *, dry_run: bool) -> ExitCode:
    """Make ``name`` the default profile, or print the change with ``dry_run``. Raise Stop (3) if it does not exist."""
    check_profile_exists(ctx, name)
    if dry_run:
        return preview_changes(ctx, ("WRITE", ctx.config.path, {"profile": name}))
    use_profile(ctx.config_dir, name)
    cache.remember_default(ctx, name)
    ctx.note(f"{name} is now the default profile")
    return ExitCode.OK


def check_profile_exists(ctx: Context, name: str) -> None:
    """Raise Stop (3) if the profile ``name`` does not exist."""
    if name not in ctx.config.profiles:
        known = ", ".join(ctx.config.profiles) or "none"
        raise Stop(ExitCode.NOT_FOUND, f"profile {name!r} does not exist", hint=f"Profiles: {known}.")
