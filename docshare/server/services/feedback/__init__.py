"""Store and list what readers leave on a document: marks, annotations, notes, receipts."""
