"""Fork clean workers from a process that has loaded the libraries of a worker but never receives a document.

Only ``pdf.template`` starts it, as ``python -m docshare.server.pdf.worker.template``, with a socket as stdin that keeps
the boundaries of messages. It sends ``{"ready": true}``, or ``false`` if this host lacks what it needs. The server then
sends requests in JSON, and gets a reply for each:

- ``{"fork": [MEMORY_BYTES, TIMEOUT_S, EDITS]}`` with the descriptors for stdin and stdout of the worker. The reply
  ``{"number": N}`` passes a descriptor of the new process; N is its ID in the process namespace of the template.
- ``{"reap": N}``. The reply ``{"status": STATUS}`` is the exit status of that process, or null if it still runs.

With process namespaces, the kernel ends all workers together with this process.
"""

import gc
import json
import os
import signal
import socket
from functools import cache
from typing import Any

from docshare.server.confinement import kernel, namespaces
from docshare.server.pdf.worker import confine, main
from docshare.server.pdf.worker.confine import ProcessPlace

_MAX_REQUEST_BYTES = 4096


def serve() -> None:
    """Serve requests until the server closes its end of the socket."""
    confine.leave_terminal()
    place = confine.enter_process_namespace()
    requests = _move_socket()
    if not _can_fork(place):
        requests.send(b'{"ready": false}')
        return
    _load(edits=False)
    requests.send(b'{"ready": true}')
    while True:
        message, streams, _, _ = socket.recv_fds(requests, _MAX_REQUEST_BYTES, 2)
        if not message:
            return
        request: dict[str, Any] = json.loads(message)
        try:
            if "fork" in request:
                _fork_worker(requests, streams, place, *request["fork"])
            else:
                requests.send(json.dumps({"status": _reap(request["reap"])}).encode("ascii"))
        except OSError as error:
            requests.send(json.dumps({"error": str(error)}).encode("ascii"))
        finally:
            for stream in streams:
                os.close(stream)


def run_worker(memory_bytes: int, timeout_s: float, place: ProcessPlace) -> None:
    """Serve jobs in a process that was just forked, with stdin and stdout as in ``main``."""
    os.write(1, b'{"pid": %d}\n' % place.number)
    main.main(memory_bytes, timeout_s, place)


def _move_socket() -> socket.socket:
    """Move the socket away from descriptor 0."""
    requests = socket.socket(fileno=os.dup(0))
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    os.close(null)
    return requests


def _can_fork(place: ProcessPlace) -> bool:
    """Return whether this host supports all that ``_fork_worker`` needs. A container can deny system calls, or kill the
    caller."""

    def try_calls() -> None:
        child = _fork(place)
        if child == 0:
            os._exit(0)
        handle = os.pidfd_open(child)
        signal.pidfd_send_signal(handle, 0)
        os.close(handle)
        os.waitpid(child, 0)
        os.readlink("/proc/self")

    try:
        if kernel.is_filtered():
            confine.try_in_child(try_calls)
        try_calls()
    except OSError:
        return False
    return True


@cache
def _load(*, edits: bool) -> None:
    """Load the libraries, and exempt their objects from garbage collection.

    A collection writes to every object, which copies the memory that the workers share: each would then occupy 11.1 MB
    of its own instead of 1.6 MB.
    """
    main.load_libraries(edits=edits)
    confine.prepare()
    gc.collect()
    gc.freeze()


def _fork_worker(
    requests: socket.socket, streams: list[int], place: ProcessPlace, memory_bytes: int, timeout_s: float, edits: bool
) -> None:
    _load(edits=edits)
    child = _fork(place)
    if child == 0:
        try:
            requests.close()
            for number, stream in enumerate(streams):
                os.dup2(stream, number)
                os.close(stream)
            # The ID of this process on the host, where /proc was mounted.
            run_worker(memory_bytes, timeout_s, ProcessPlace(int(os.readlink("/proc/self")), place.refusal))
        finally:
            os._exit(1)
    try:
        handle = os.pidfd_open(child)
    except OSError:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        raise
    socket.send_fds(requests, [json.dumps({"number": child}).encode("ascii")], [handle])
    os.close(handle)


def _fork(place: ProcessPlace) -> int:
    """Fork, with process namespaces into a new one."""
    if place.refusal is not None:
        return os.fork()
    namespace = os.open("/proc/self/ns/pid", os.O_RDONLY)
    try:
        namespaces.unshare(namespaces.PROCESSES)  # applies to the next child
        child = -1
        try:
            child = os.fork()
        finally:
            if child != 0:
                namespaces.enter(namespace, namespaces.PROCESSES)
        return child
    finally:
        os.close(namespace)


def _reap(child: int) -> int | None:
    done, status = os.waitpid(child, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if done else None


if __name__ == "__main__":
    serve()
