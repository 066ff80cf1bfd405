"""Print who read a file, and how long each page was read."""

import sys

from docshare import Client

link = sys.argv[1]
with Client() as client:
    report = client.readership.report(link)
    print(report["summary"]["totalViews"], "views", report["tier"])
    for country in report.get("countries", []):
        print(country["label"], country["count"])
    for page in client.readership.pages(link)["pages"]:
        print("page", page["pageNumber"], page["avgDurationMs"], "ms")
    for session in client.readership.sessions_after(link):
        print(session["startedAt"], session.get("country", "-"), session["totalTimeMs"], "ms")
