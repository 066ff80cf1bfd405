"""``docshare webhooks listen``: receive deliveries on this machine.

Read ``run`` first: it selects one of three sources (``local``, ``public``, ``bridge``). ``receive`` verifies and
forwards a delivery, ``output`` and ``rows`` print it. It imports modules of ``webhooks`` and ``events``.
"""
