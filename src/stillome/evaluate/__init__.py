"""What motion does to a cohort, and what a method leaves of it."""
