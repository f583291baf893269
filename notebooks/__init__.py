"""The papers and the course; a paper's own code lies beside its notebooks."""
