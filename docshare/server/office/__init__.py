"""Detect, check and convert office documents to PDF with LibreOffice.

``detect`` determines the type, ``prescan`` and ``scan`` reject harmful documents before anything runs, ``convert`` runs
LibreOffice in the sandbox of ``jail``. Read ``convert`` first. It imports neither services nor tables nor Flask.
"""
