"""Tell apart what can go wrong."""

import sys

from docshare import Client, DocshareError, Problem, RateLimited, UnknownOutcome

with Client() as client:
    try:
        client.with_options(timeout=5, retries=0).files.show(sys.argv[1])
    except RateLimited as error:
        print("retry in", error.retry_after, "seconds")
    except Problem as error:
        print(error.status, error.code, error.request_id is not None)
    except UnknownOutcome as error:
        print("check:", error.candidates)
    except DocshareError as error:
        print(error.code, error.detail, error.hint)
