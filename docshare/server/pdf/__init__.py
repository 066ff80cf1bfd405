"""Read, render and edit PDFs in confined worker processes.

Read ``engine`` first: it turns each request into a job and returns its result. ``pool`` and ``schedule`` decide
which job runs next, ``child`` controls one worker process, ``worker`` is the code that runs inside it, and ``answers``
validates the replies. ``pages`` caches what was rendered. It imports neither services nor tables nor Flask.

**The cut of a page range** is access control: readers of pages 3 to 5 must get nothing of the others. PDF libraries
copy parts of removed pages, so ``worker/cut`` reduces the kept pages to what drawing needs, ``worker/leaks`` searches
the result for anything else, and ``worker/comparison`` checks with another engine that pages and looks are the same. A
document for which this fails is not served in parts.
"""
