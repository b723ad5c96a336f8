#!/bin/sh
# Starts the rule service with the key that Python code in rules is signed with.
set -eu
PERCEPT_SIGNING_KEYS=$(cat /var/lib/percept/tokens/signing-keys)
export PERCEPT_SIGNING_KEYS
exec percept serve --host 0.0.0.0
