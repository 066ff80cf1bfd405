"""The HTTP listener and what every request passes: parsing, early verdicts, uploads, rate limits, health.

Read ``listener`` first, then follow a request through ``channel`` and ``request_parser``. Modules of the listener
import neither Flask nor services.

**The path of an upload.** When the head of a request is complete, ``verdicts`` asks the application whether it would be
accepted (credential, scope, free slot, size, disk space), before any byte of the body is read. Then ``multipart``
writes the file once, from the socket into a partial file of the store, hashed on the way; the store renames that file,
so the disk sees each byte once. The row is written last, and a blob without a row is deleted at the next start.
"""
