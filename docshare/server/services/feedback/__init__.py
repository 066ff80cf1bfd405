"""What readers leave on a document: marks, annotations, notes, receipts."""
