"""Many models, many scores: which scores agree, and what explains their differences."""
