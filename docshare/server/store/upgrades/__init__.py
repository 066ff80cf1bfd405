"""The steps that databases of earlier versions take, in SQLite's SQL, one module each.

``migrations`` has them in order.

Never edit a step that was released: add one. Times are integer milliseconds UTC, sizes bytes, state is a dated fact.
"""
