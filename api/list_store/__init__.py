"""The lists of a stream as they are stored: identity, versions, contents; who names them."""
