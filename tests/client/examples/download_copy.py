"""Download the stored document to a file that is complete or untouched, and show the progress."""

import sys

from docshare import Client

link, target = sys.argv[1:]
with Client() as client:
    total = client.files.show(link)["size"]
    size = client.files.download(link, target, progress=lambda done: print(100 * done // total, "%", file=sys.stderr))
    print(size, "bytes")
