"""Where frames of runs come from: files, several campaigns, or a relation in DuckDB."""
