"""Runs one command in as small a world as the host allows; started as a process of its own, imported for its types.

The command sees no network and, at the highest level, only the programs of the host (read-only) and one directory it
may write to: neither documents of other people nor settings nor homes. All its processes end with it.

Protocol: one JSON object as the only argument (``Order``); the answer on standard output is one JSON line, either
``{"exit": status}`` of the command or ``{"setup": reason}`` when the world could not be made. SIGTERM ends the command
at once; so does the end of whoever started this process.
"""

import contextlib
import ctypes
import json
import os
import resource
import signal
import sys
from pathlib import Path
from typing import NoReturn, TypedDict

LEVELS = ("jail", "network", "bare")
"""What is kept away from the command: all but programs and its directory; only the network; nothing."""

_SETUP_FAILED = 125

_CLONE_NEWNS = 0x00020000
_CLONE_NEWIPC = 0x08000000
_CLONE_NEWUSER = 0x10000000
_CLONE_NEWPID = 0x20000000
_CLONE_NEWNET = 0x40000000
_NAMESPACES = {
    "jail": _CLONE_NEWUSER | _CLONE_NEWNS | _CLONE_NEWIPC | _CLONE_NEWPID | _CLONE_NEWNET,
    "network": _CLONE_NEWUSER | _CLONE_NEWNET,
}

_MS_NOSUID, _MS_NODEV, _MS_NOEXEC = 2, 4, 8
_QUIET = _MS_NOSUID | _MS_NODEV | _MS_NOEXEC
_MS_BIND, _MS_MOVE, _MS_REC, _MS_PRIVATE = 0x1000, 0x2000, 0x4000, 0x40000
_SYS_MOUNT_SETATTR = 442  # the same number on every architecture
_AT_FDCWD, _AT_RECURSIVE = -100, 0x8000
_ATTR_RDONLY, _ATTR_NOSUID, _ATTR_NODEV, _ATTR_NOEXEC = 1, 2, 4, 8

_PR_SET_PDEATHSIG = 1
_PR_SET_SECUREBITS = 28
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
_SECBITS_NOROOT = 0b11  # root gains nothing by starting a program, and that is locked

# What programs need of a host. Nothing here is private: no passwd, no homes, no /var/lib, no /run.
_PROGRAMS = (
    "/usr", "/bin", "/lib", "/lib32", "/lib64", "/nix/store", "/gnu/store", "/var/cache/fontconfig",
    "/etc/alternatives", "/etc/fonts", "/etc/ld.so.cache", "/etc/libreoffice", "/etc/localtime", "/etc/papersize",
)  # fmt: skip
_DEVICES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")


class Order(TypedDict):
    """``command``: what to run, ``env`` its whole environment, ``home`` the one directory it may write to, ``programs``
    directories it needs beyond the usual ones, ``limits`` pairs of resource name (``"AS"``) and value."""

    level: str
    command: list[str]
    env: dict[str, str]
    home: str
    programs: list[str]
    limits: dict[str, int]


def main() -> None:
    """Carry out the order in the first argument and answer on standard output."""
    order: Order = json.loads(sys.argv[1])
    answer: dict[str, object]
    try:
        _enter_namespaces(order["level"])
        answer = _run(order)
    except OSError as error:
        answer = {"setup": str(error)}
    print(json.dumps(answer), flush=True)  # noqa: T201 - the protocol


def _enter_namespaces(level: str) -> None:
    """Leave what ``level`` takes away; the process namespace holds for children only."""
    uid, gid = os.geteuid(), os.getegid()
    if level != "bare":
        _call("unshare", _NAMESPACES[level])
        for name, value in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
            Path("/proc/self", name).write_text(value, encoding="ascii")
    if sys.platform == "linux":  # after the change of rights, which would undo it
        _control(_PR_SET_PDEATHSIG, signal.SIGTERM)
        _control(_PR_SET_CHILD_SUBREAPER, 1)


def _run(order: Order) -> dict[str, object]:
    """Run the command in a child: the first process of its namespace, so when it ends the kernel ends the others."""
    signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGTERM,))
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        _become(order, writer)
    with contextlib.suppress(OSError):
        os.setpgid(child, child)  # the child does the same: whoever comes first
    signal.signal(signal.SIGTERM, lambda *_: os.killpg(child, signal.SIGKILL))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGTERM,))
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        trouble = pipe.read()  # closed without a word by a successful exec
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    _end_group(child)
    return {"setup": trouble.decode()} if trouble else {"exit": status}


def _end_group(group: int) -> None:
    """Kill and collect what the command left behind; its orphans are children of this process."""
    with contextlib.suppress(ProcessLookupError, ChildProcessError):
        os.killpg(group, signal.SIGKILL)
        while True:
            os.waitpid(-group, 0)


def _become(order: Order, trouble: int) -> NoReturn:
    try:
        os.setpgid(0, 0)
        if sys.platform == "linux":
            _control(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if order["level"] == "jail":
            _enter_root(Path(order["home"]), order["programs"])
        os.chdir(order["home"])
        _silence()
        for name, value in order["limits"].items():
            _limit(getattr(resource, f"RLIMIT_{name}"), value)
        if sys.platform == "linux":
            _give_up_rights(order["level"])
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGTERM,))
        os.execve(order["command"][0], order["command"], order["env"])  # noqa: S606 - a fixed list
    except OSError as error:
        os.write(trouble, str(error).encode())
    finally:
        os._exit(_SETUP_FAILED)


def _enter_root(home: Path, programs: list[str]) -> None:
    """Make a root directory with the programs of the host, read-only, and ``home``; move into it."""
    _mount("none", "/", None, _MS_REC | _MS_PRIVATE)
    root = home / ".root"
    root.mkdir(exist_ok=True)
    _mount("tmpfs", str(root), "tmpfs", _MS_NOSUID | _MS_NODEV, "mode=755,size=1m")
    (root / "tmp").mkdir()
    _mount("tmpfs", str(root / "tmp"), "tmpfs", _QUIET, "mode=700,size=1m")  # LibreOffice puts a socket there
    (root / "proc").mkdir()
    _mount("proc", str(root / "proc"), "proc", _QUIET)  # shows the processes of the namespace only
    for name in (*_PROGRAMS, *programs):
        _show(root, Path(name), _ATTR_RDONLY | _ATTR_NOSUID | _ATTR_NODEV)
    for name in _DEVICES:
        _show(root, Path(name), _ATTR_NOSUID | _ATTR_NOEXEC)
    _bind(home, _within(root, home), _MS_BIND, _ATTR_NOSUID | _ATTR_NODEV | _ATTR_NOEXEC)
    os.chdir(root)
    _mount(".", "/", None, _MS_MOVE)
    os.chroot(".")
    _restrict("/", _ATTR_RDONLY, 0)


def _show(root: Path, source: Path, attributes: int) -> None:
    """Let ``source`` of the host appear under ``root`` with the restrictions ``attributes``; skip what is not there."""
    target = _within(root, source)
    if source.is_symlink():
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to(source.readlink())
    elif source.exists() and not target.exists():
        _bind(source, target, _MS_BIND | _MS_REC, attributes)


def _bind(source: Path, target: Path, how: int, attributes: int) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        target.mkdir(exist_ok=True)
    else:
        target.touch()
    _mount(str(source), str(target), None, how)
    _restrict(str(target), attributes, _AT_RECURSIVE)


def _within(root: Path, path: Path) -> Path:
    return root / path.relative_to("/")


def _silence() -> None:
    """Nothing comes in or goes out by the standard streams."""
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)


def _limit(which: int, value: int) -> None:
    hard = resource.getrlimit(which)[1]
    bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(which, (bound, bound))


def _give_up_rights(level: str) -> None:
    _control(_PR_SET_NO_NEW_PRIVS, 1)
    if level != "bare":  # a user namespace gives all rights inside it
        _control(_PR_SET_SECUREBITS, _SECBITS_NOROOT)


class _MountAttributes(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "user_namespace")]


def _restrict(path: str, attributes: int, flags: int) -> None:
    wanted = _MountAttributes(attributes, 0, 0, 0)
    size = ctypes.c_size_t(ctypes.sizeof(wanted))
    _call("syscall", _SYS_MOUNT_SETATTR, _AT_FDCWD, path.encode(), flags, ctypes.byref(wanted), size)


def _mount(source: str, target: str, kind: str | None, flags: int, options: str | None = None) -> None:
    texts = [text.encode() if text is not None else None for text in (source, target, kind, options)]
    _call("mount", *texts[:3], ctypes.c_ulong(flags), texts[3])


def _control(option: int, value: int) -> None:
    _call("prctl", *(ctypes.c_ulong(number) for number in (option, value, 0, 0, 0)))


def _call(name: str, *arguments: object) -> None:
    """Call a function of the C library; raises OSError when it fails."""
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


if __name__ == "__main__":
    main()
