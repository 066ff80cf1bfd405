"""ADAPTER · office documents: what they are, what is refused of them, and their conversion to PDF by LibreOffice."""
