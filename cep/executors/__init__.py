"""What moves the keys of a shape by a batch: compiled code or Python, chosen in `choice` alone."""
