"""Checks whether a pattern runs as written; between the tree and the compiler in `cep.nfa`.

`validate` applies every family of rules; each family is one module.
"""
