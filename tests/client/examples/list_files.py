"""List all files with their views."""

from docshare import Client

with Client() as client:
    for file in client.files.list():
        ends = file.get("deleteAt", "never")
        print(file["originalName"], file["viewCount"], file["shareUrl"], ends, sep="\t")
