"""Sources of runs: files, several campaigns, and relations in DuckDB."""
