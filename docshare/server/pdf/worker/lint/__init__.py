"""Find metadata and hidden content in a PDF, and make a copy without it. Imported only inside the worker.

Read ``report`` first: it collects the findings. ``about`` checks metadata, ``inside`` embedded objects, ``layers``
hidden layers, ``sight`` text that readers cannot see, ``versions`` earlier revisions. ``clean`` makes the copy. In the
parent process, ``docshare.server.pdf.linter`` starts these jobs.
"""
