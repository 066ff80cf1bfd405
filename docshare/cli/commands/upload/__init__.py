"""``docshare upload``: upload documents, with settings and links if requested, and print their share links.

Read ``command`` first, then ``run``. ``send`` uploads one file or several at a time, ``settings`` and ``links`` follow
each upload, ``report`` prints it. It imports modules of ``browse``, ``lint``, ``qr``, ``settings`` and ``variants``.
"""
