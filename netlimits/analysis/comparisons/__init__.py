"""The parts of a comparison: sides, sessions, missing runs, improvements and notes."""
