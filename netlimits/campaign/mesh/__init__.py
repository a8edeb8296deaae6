"""Campaigns of a mesh: several pairs at once in one process, or shards on Dask's workers."""
