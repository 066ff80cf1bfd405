"""Layers that separate a process that reads untrusted files from the rest of the host.

Read ``kernel`` first: it makes system calls. ``namespaces``, ``landlock`` and ``seccomp`` (with its table ``syscalls``)
implement one layer each. Only ``docshare.server.pdf`` and ``docshare.server.office`` use them. It imports only the
standard library.

**How a PDF worker is confined.** It gets the document as an open descriptor and can open nothing else but fonts and
random numbers: it has its own root directory, Landlock, and a list of the few system calls that rendering needs, none
of them for network or other processes. It has namespaces without a network, a user ID that no other process has, and
limits of memory, processes and file size. The layers are independent: a layer that the host lacks is omitted and
reported by ``docshare doctor``; with ``DOCSHARE_CONFINEMENT=required`` the server then does not start. All replies of
a worker are treated as untrusted input, and no worker gets documents of two owners.
"""
