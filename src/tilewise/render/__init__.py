"""Shows results: a table for people, JSON for programs."""
