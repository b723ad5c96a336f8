"""The definition of a processor: the document that authors write, and its checks."""
