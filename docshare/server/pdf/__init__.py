"""Read, render and edit PDFs in confined worker processes.

Read ``engine`` first: it turns each request into a job and returns its result. ``pool`` and ``schedule`` decide
which job runs next, ``child`` controls one worker process, ``worker`` is the code that runs inside it, and ``answers``
validates the replies. ``pages`` caches what was rendered. It imports neither services nor tables nor Flask.

**A worker never reads documents of two owners**, because one that a document has taken over could read the others and
forge their pages. ``pool`` replaces a worker before a job of another owner. That is cheap, because a new worker is a
fork of a process that has loaded all libraries and never receives a document (``template``). A document without an
owner counts as its own owner.

**The cut of a page range** is access control: readers of pages 3 to 5 must get nothing of the others. PDF libraries
copy parts of removed pages, so ``worker/cut`` reduces the kept pages to what drawing needs, ``worker/leaks`` searches
the result for anything else, and ``worker/comparison`` checks with another engine that pages and looks are the same. A
document for which this fails is not served in parts.
"""
