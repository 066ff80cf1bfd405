"""Upload a document, restrict its link, and print the link."""

import sys

from docshare import Client

with Client() as client:
    file = client.files.upload(sys.argv[1], "Offer.pdf")
    client.settings.write(file["uuid"], {"allowDownload": False, "viewLimit": 100})
    print(file["shareUrl"])
