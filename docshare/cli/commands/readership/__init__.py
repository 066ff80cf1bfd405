"""``docshare readership``: see who read a file, and how.

Read ``group`` first: it lists the commands, each of which is loaded when it runs. ``show`` prints the report by
``drawing`` and ``sections``, ``report_file`` writes its ``material`` as HTML by ``docshare.report``; ``sessions`` has
what all of them share. It imports modules of ``browse``, ``files`` and ``variants``, and never the server.
"""
