"""Why readers cannot download a file as its settings allow, found by trying; NULL if they can."""

STEP = """
ALTER TABLE files ADD COLUMN download_warning TEXT;
ALTER TABLE variants ADD COLUMN download_warning TEXT;
"""
