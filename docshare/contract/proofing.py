"""Page marks and annotations: words and columns (sections Page marks and Annotations; gap choices: Proofing)."""

MARKS = ("pick", "reject", "maybe")

# Spec gap: the columns of ``format=csv``, in this order.
MARK_COLUMNS = ("page", "mark", "identity", "markedAt")
ANNOTATION_COLUMNS = ("page", "uuid", "identity", "x", "y", "width", "height", "note", "createdAt")
