"""Print events as they arrive, for a number of seconds."""

import sys

from docshare import Client

seconds = float(sys.argv[1])
with Client() as client:
    for row in client.activity.follow(0, interval=1, timeout=seconds):
        if row["event"] == "content.replaced":
            print(row["id"], row["data"]["fileName"], "version", row["data"]["contentVersion"])
        elif row["event"] == "file.viewed":
            print(row["id"], row["data"]["fileName"], row["data"]["timeMs"], "ms")
