#!/bin/sh
# Makes the tokens of the compose file, once: one to sign in with, one for the job; and the key that code is signed with.
set -eu
umask 077
make_token() {
  if [ ! -s "$2" ]; then
    percept token create "compose $1" --role "$1" > "$2.new"
    mv "$2.new" "$2"
  fi
}
make_token admin /var/lib/percept/admin/token
make_token job /var/lib/percept/tokens/job
keys="/var/lib/percept/tokens/signing-keys"
if [ ! -s "$keys" ]; then
  percept signing-key compose > "$keys.new"
  mv "$keys.new" "$keys"
fi
