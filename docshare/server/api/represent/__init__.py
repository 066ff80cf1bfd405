"""Convert rows and results of services to the JSON of the API.

Read ``resources`` first: files, links, accounts and the rows of the feeds; the other modules have one noun each. Views
in ``api`` and pages in ``web`` call it, so that both show the same values. It imports services and the contract, never
a request or a table.
"""
