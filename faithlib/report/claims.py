"""What the claims of every paper share."""

CLAIMS = [
    "claim",
    "baseline",
    "verdict",
    "value",
    "ci_low",
    "ci_high",
    "where",
    "published",
    "definition",
]  # the columns of every claims.csv
