"""Who was scanned and what is known of them: cohorts, edges, confounds, and the one doorway."""
