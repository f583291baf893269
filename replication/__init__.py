"""From records to tables, claims, verdicts and cards: what the notebooks of all papers share."""
