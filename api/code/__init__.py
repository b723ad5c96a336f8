"""Python code in processors: who may send it, and whose signature it must carry."""
