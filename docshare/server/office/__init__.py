"""Detect, check and convert office documents to PDF with LibreOffice."""
