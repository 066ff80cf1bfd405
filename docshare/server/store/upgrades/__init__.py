"""The steps that databases of earlier versions take, in SQLite's SQL, one module each.

``docshare.server.store.migrations`` has them in order, from ``beginning`` on. Never edit a step that was
released: add one. Times are integer milliseconds UTC, sizes bytes, state is a dated fact.
"""
