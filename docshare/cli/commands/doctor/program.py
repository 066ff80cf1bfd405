"""``docshare doctor``, groups "program" and "settings": what needs no server."""

import os
import re
import stat
import sys
from pathlib import Path

from docshare.cli.commands.doctor.checks import Check, Scene
from docshare.cli.local import credentials
from docshare.cli.terminal.capabilities import on
from docshare.client.address import is_loopback
from docshare.contract.findings import Finding, absent, broken, doubtful, fine

_OLDEST_PYTHON = (3, 11)
_REQUIREMENT = re.compile(r"([A-Za-z0-9_.-]+)([<>=!~,\d.]*)")
_BOUND = re.compile(r"(>=|<)([\d.]+)")
# Where each shell looks for completions: below the prefix of the installation, below $HOME, and what a start-up file
# would say instead.
_COMPLETIONS = {
    "bash": ("share/bash-completion/completions/docshare", ".local/share/bash-completion/completions/docshare"),
    "zsh": ("share/zsh/site-functions/_docshare", ".zfunc/_docshare"),
    "fish": ("share/fish/vendor_completions.d/docshare.fish", ".config/fish/completions/docshare.fish"),
}
_START_FILES = {"bash": ".bashrc", "zsh": ".zshrc", "fish": ".config/fish/config.fish"}
_DATA_DIRS = "/usr/local/share:/usr/share"
_BASH_COMPLETION = (
    "/usr/share/bash-completion/bash_completion", "/usr/local/share/bash-completion/bash_completion",
    "/etc/bash_completion",
)  # fmt: skip
_LOADERS = {
    "bash": 'Install bash-completion, or add to ~/.bashrc: eval "$(docshare completion bash)"',
    "zsh": "Add to ~/.zshrc: fpath=(~/.zfunc $fpath); autoload -U compinit; compinit",
    "fish": "",
}
_PREFIXES = (Path(sys.prefix), Path("/usr/local"), Path("/usr"))
_PROXIES = ("http", "https", "all")


def _python(scene: Scene) -> Finding:  # noqa: ARG001 - as every check
    from docshare import __version__

    words = f"docshare {__version__} on Python {sys.version.split()[0]}, {sys.platform}"
    if sys.version_info < _OLDEST_PYTHON:
        return broken(words, "Install docshare under Python 3.11 or later.")
    return fine(words)


def _libraries(scene: Scene) -> Finding:  # noqa: ARG001 - as every check
    from importlib import metadata

    try:
        required = [_REQUIREMENT.match(line) for line in metadata.requires("docshare") or [] if "extra ==" not in line]
    except metadata.PackageNotFoundError:
        return absent("docshare runs from its sources, not as an installed package")
    wrong = []
    for match in filter(None, required):
        try:
            version = metadata.version(match[1])
        except metadata.PackageNotFoundError:
            wrong.append(f"{match[1]} is missing")
            continue
        if not _fits(version, match[2]):
            wrong.append(f"{match[1]} {version} is not {match[2]}")
    if wrong:
        return broken("; ".join(wrong), "Install docshare again into an environment of its own.")
    shown = ", ".join(f"{name} {metadata.version(name)}" for name in ("typer", "rich", "requests"))
    return fine(f"{shown} and {len(required) - 3} others fit")


def _fits(version: str, bounds: str) -> bool:
    have = _numbers(version)
    return all(have >= _numbers(bound) if sign == ">=" else have < _numbers(bound)
               for sign, bound in _BOUND.findall(bounds))  # fmt: skip


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


def _output(scene: Scene) -> Finding:
    encoding = getattr(scene.ctx.stdout, "encoding", None) or "unknown"
    if scene.ctx.out_screen.unicode:
        return fine(f"standard output is {encoding}")
    return doubtful(f"standard output is {encoding}: names of files may show as ?", "Set PYTHONIOENCODING=utf-8.")


def _completion(scene: Scene) -> Finding:
    shell = Path(scene.ctx.env.get("SHELL", "")).name
    if shell not in _COMPLETIONS:
        return absent(f"no completion is looked for in {shell or 'an unknown shell'}")
    shared, own = _COMPLETIONS[shell]
    home = Path(scene.ctx.env.get("HOME", "~")).expanduser()
    said = _start_file(home / _START_FILES[shell])
    if "docshare completion" in said:
        return fine(f"completion of {shell} is in {_START_FILES[shell]}")
    # A shell looks into the data directories of the system, and not below the prefix of a virtual environment.
    folders = [Path(folder) for folder in (scene.ctx.env.get("XDG_DATA_DIRS") or _DATA_DIRS).split(os.pathsep)]
    mine = (home / own).is_file()
    if mine or any((folder / shared.removeprefix("share/")).is_file() for folder in folders):
        missing = _missing(shell, said, mine=mine)
        return (
            doubtful(f"completion of {shell} is there, but {missing}", _LOADERS[shell])
            if missing
            else fine(f"completion of {shell} is installed")
        )
    return absent(f"completion of {shell} is not installed; docshare completion {shell} > ~/{own}")


def _start_file(path: Path) -> str:
    """What a start-up file does: its lines without comments."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    return "\n".join(line for line in lines if not line.lstrip().startswith("#"))


def _missing(shell: str, said: str, *, mine: bool) -> str:
    """Why the shell would not load a completion that is there; empty if it would."""
    if shell == "bash" and not any(Path(path).is_file() for path in _BASH_COMPLETION):
        return "the package bash-completion, which loads it, is not"
    if shell == "zsh" and "compinit" not in said:
        return ".zshrc does not call compinit"
    return ".zshrc does not add ~/.zfunc to fpath" if shell == "zsh" and mine and ".zfunc" not in said else ""


def _manual(scene: Scene) -> Finding:
    paths = [Path(folder) for folder in scene.ctx.env.get("MANPATH", "").split(os.pathsep) if folder]
    folders = [*paths, *(prefix / "share/man" for prefix in _PREFIXES)]
    found = next((folder for folder in folders if (folder / "man1/docshare.1").is_file()), None)
    return fine(f"manual pages are in {found}") if found else absent("no manual pages; docshare help says the same")


def _file(scene: Scene) -> Finding:
    for folder in (scene.ctx.config_dir, scene.ctx.env.get("HOME")):
        scene.hide(folder, "<path>")
    config = scene.ctx.config  # Stop where it cannot be read, with a hint
    for name in config.profiles:
        scene.hide(name, "<profile>")
    if config.strange:
        return doubtful(f"{config.path}: unknown keys {', '.join(config.strange)}", "Correct or remove them.")
    return fine(f"{config.path} is in order") if config.path.exists() else absent(f"there is no {config.path}")


def _permissions(scene: Scene) -> Finding:
    folder = scene.ctx.config_dir
    secret = folder / credentials.FILE_NAME
    if os.name != "posix" or not folder.exists():
        return absent("nothing is kept here yet")
    if credentials.others_can_read(folder):
        return broken(f"others on this machine can read {secret}", f"chmod 600 {secret}")
    if stat.S_IMODE(folder.stat().st_mode) & 0o022:
        return broken(f"others on this machine can change {folder}", f"chmod 700 {folder}")
    return fine(f"only you can read {secret}" if secret.exists() else "no credential is kept here")


def _address(scene: Scene) -> Finding:
    connection = scene.ctx.connection
    name = connection.profile.value
    scene.hide(name, "<profile>")
    of_profile = f" (profile {name} by {connection.profile.origin})" if name else ""
    words = f"{connection.url.value} from {connection.url.origin}{of_profile}"
    if connection.origin.startswith("http://") and not is_loopback(_host(connection.origin)):
        return doubtful(f"{words}: nothing is encrypted on the way", "Use the https address of the server.")
    return fine(words)


def _host(origin: str) -> str:
    from urllib.parse import urlsplit

    return urlsplit(origin).hostname or ""


def _credential(scene: Scene) -> Finding:
    connection = scene.ctx.connection
    if connection.token is None:
        return broken(f"no credential: {connection.source}", "Set DOCSHARE_TOKEN, or run: docshare auth login")
    return fine(f"from {connection.source}")


def proxy_of(scene: Scene) -> str | None:
    """The HTTP proxy through which requests to the server in effect go, or None."""
    from requests.utils import get_environ_proxies, select_proxy

    url = str(scene.ctx.connection.url.value)
    return select_proxy(url, get_environ_proxies(url))


def _proxy(scene: Scene) -> Finding:
    proxy = proxy_of(scene)
    if proxy:
        return fine(f"requests go through {_without_login(proxy)}")
    names = [f"{kind}_proxy" for kind in _PROXIES]
    if any(on(scene.ctx.env, name) or on(scene.ctx.env, name.upper()) for name in names):
        return fine("a proxy is set, but not for this server")
    return fine("requests go straight to the server")


def _without_login(url: str) -> str:
    return re.sub(r"//[^/@]*@", "//", url)


def _netrc(scene: Scene) -> Finding:
    from requests.utils import get_netrc_auth

    if get_netrc_auth(str(scene.ctx.connection.url.value)) is None:
        return absent("~/.netrc says nothing about this server")
    return fine("~/.netrc has a login for this server; it is never used")


PROGRAM = (
    Check("python", _python),
    Check("libraries", _libraries),
    Check("output", _output),
    Check("completion", _completion),
    Check("manual", _manual),
)
SETTINGS = (
    Check("file", _file),
    Check("permissions", _permissions),
    Check("address", _address, needs=("file",)),
    Check("credential", _credential, needs=("address",)),
    Check("proxy", _proxy, needs=("address",)),
    Check("netrc", _netrc, needs=("address",)),
)
