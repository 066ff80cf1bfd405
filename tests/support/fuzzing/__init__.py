"""Send generated requests for every operation of ``openapi.yaml`` with Schemathesis, and check the responses.

Read ``run`` first: it starts Schemathesis against an ``instance`` with accounts of all plans. ``documents`` generates
bodies that are documents and images, ``checks`` adds rules for the responses, and ``hooks`` registers both. It may
import the rest of ``tests.support``. Tests and benchmarks import only ``run`` and ``instance``.
"""
