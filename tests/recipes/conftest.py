"""The recipes' files are tests only in the copy of the repository that `test_recipes.py` makes."""

collect_ignore_glob = ["*"]
