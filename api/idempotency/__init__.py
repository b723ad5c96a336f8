"""Changes that are asked for twice and made once, by the key their author gave them."""
