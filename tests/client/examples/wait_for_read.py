"""Wait until someone has read a file."""

import sys

from docshare import Client
from docshare.client.errors import WaitTimedOut

link, seconds = sys.argv[1], float(sys.argv[2])
with Client() as client:
    try:
        session = client.readership.wait(link, interval=1, timeout=seconds)
    except WaitTimedOut as error:
        sys.exit(error.detail)
    print("read for", session["totalTimeMs"], "ms")
