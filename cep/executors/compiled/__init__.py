"""Compiled code over the keys of a shape, which are objects or what a store holds of them."""
