"""A campaign's folder: what lies on disk, how it is written, and how it is read again."""
