"""Python code that travels: pickled, signed with HMAC keys, loaded only once it is verified."""
