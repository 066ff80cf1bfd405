"""``docshare public``: commands that need no account and neither read nor send a credential.

Read ``group`` first: metadata, oEmbed and QR code of a share link. ``upload`` shares a document without an account.
Of the other commands, it imports only modules of ``qr`` and ``upload``.
"""
