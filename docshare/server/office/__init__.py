"""Detect, check and convert office documents to PDF with LibreOffice.

``detect`` tells the kinds apart, ``prescan`` and ``scan`` reject what could harm before anything runs, ``convert`` runs
LibreOffice in the sandbox of ``jail``. Read ``convert`` first. It imports neither services nor tables nor Flask.
"""
