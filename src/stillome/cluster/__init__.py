"""Blocks of a computation on a Dask cluster, where a client is active in this process."""
