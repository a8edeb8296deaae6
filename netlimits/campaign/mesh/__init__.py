"""A mesh's campaign: several pairs at once in one process, or in shards that Dask's workers do."""
