"""The upgrade steps of databases of earlier versions, in SQLite's SQL, one module each.

Read ``beginning`` first; ``docshare.server.store.migrations`` lists all in order. They import nothing, so that no later
change of the code changes a step. Never edit a step that was released: add one. Times are integer milliseconds UTC,
sizes bytes, state is a dated fact.
"""
