#!/bin/sh
# Makes the tokens of the compose file, once: one to sign in with, one for the job; and the key that code is signed with.
set -eu
umask 077
for role in admin job; do
  file="/var/lib/percept/tokens/$role"
  if [ ! -s "$file" ]; then
    percept token create "compose $role" --role "$role" > "$file.new"
    mv "$file.new" "$file"
  fi
done
keys="/var/lib/percept/tokens/signing-keys"
if [ ! -s "$keys" ]; then
  percept signing-key compose > "$keys.new"
  mv "$keys.new" "$keys"
fi
