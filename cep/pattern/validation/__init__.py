"""Whether a pattern can run as it reads; between the tree and the compiler in `cep.nfa`.

`validate` applies every family of rules; each family is one module.
"""
