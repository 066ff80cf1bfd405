"""Create one link for each row of a CSV file with the columns name and download."""

import csv
import sys

from docshare import Client

path, link = sys.argv[1:]
with Client() as client, open(path, newline="", encoding="utf-8") as rows:
    known = {variant.get("label") for variant in client.variants.list(link)}
    for row in csv.DictReader(rows):
        if row["name"] not in known:
            variant = client.variants.create(link, row["name"], {"allowDownload": row["download"] == "yes"})
            print(row["name"], variant["url"])
