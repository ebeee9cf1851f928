"""Head motion: one file for each tool that writes it, and the summary per subject."""
