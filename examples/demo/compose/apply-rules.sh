#!/bin/sh
# Makes the service hold the stream and the rules of the folder `rules`.
set -eu
PERCEPT_TOKEN=$(cat /var/lib/percept/admin/token)
export PERCEPT_TOKEN
# The network is the compose file's own; elsewhere use https.
percept apply /etc/percept/rules --yes --allow-plain-http --comment "docker compose"
