"""The upgrade steps of databases of earlier versions, in SQLite's SQL, one module each.

``docshare.server.store.migrations`` lists them in order, from ``beginning`` on. Never edit a step that was released:
add one. Times are integer milliseconds UTC, sizes bytes, state is a dated fact.
"""
