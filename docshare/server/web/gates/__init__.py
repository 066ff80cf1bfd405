"""The gate of a link: its page, its form, and the cookies that remember who has passed it.

Read ``gate`` first: a form that was sent, and its answer. ``gate_page`` draws the form, which ``public.share_page``
shows if ``services.links.entry`` reports a condition that the reader has not met. ``viewer_cookie`` recognizes a
reader who has passed it, and ``denied_attempts`` counts who did not get in. It imports services, never tables.
"""
