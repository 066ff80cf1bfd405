"""Why readers cannot download a file as its settings say, found by trying; NULL where they can."""

STEP = """
ALTER TABLE files ADD COLUMN download_warning TEXT;
ALTER TABLE variants ADD COLUMN download_warning TEXT;
"""
