"""What the rule service takes and answers: the bodies of its routes, for service and client alike.

Requests refuse what they do not know. Answers ignore it, so that a client reads those of a newer
service.
"""
