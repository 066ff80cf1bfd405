"""Page marks and annotations: their words and CSV columns."""

MARKS = ("pick", "reject", "maybe")

# The columns of ``format=csv``, in this order.
MARK_COLUMNS = ("page", "mark", "identity", "markedAt")
ANNOTATION_COLUMNS = ("page", "uuid", "identity", "x", "y", "width", "height", "note", "createdAt")
