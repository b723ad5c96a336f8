"""Python code in documents: pickled, signed with HMAC keys, loaded only after verification."""
