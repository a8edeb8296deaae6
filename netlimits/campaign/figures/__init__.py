"""What an attempt's raw output says: figures, or why the attempt must not count."""
