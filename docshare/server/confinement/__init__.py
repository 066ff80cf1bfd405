"""Layers that separate a process that reads untrusted files from the rest of the host.

``kernel`` makes system calls. ``namespaces``, ``landlock`` and ``seccomp`` (with its table ``syscalls``) implement one
layer each. Only ``docshare.server.pdf`` and ``docshare.server.office`` use them; standard library only.

**How a PDF worker is confined.** It gets the document as an open descriptor and can open nothing else but fonts and
random numbers: a root of its own, Landlock, and a list of the few system calls that drawing needs, without any for
network or other processes. It has namespaces without a network, a user that no other process has, and limits of memory,
processes and files that it writes. The layers are independent: one that the host lacks is left out and reported by
``docshare doctor``; with ``DOCSHARE_CONFINEMENT=required`` the server does not start then. All its replies are
validated as if an attacker had written them.
"""
