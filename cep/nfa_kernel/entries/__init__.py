"""Compiled: what keys hold as bytes, read and written."""
