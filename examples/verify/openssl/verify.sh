#!/bin/sh
# Checks a Dharma task that `taskseal sign` made, with nothing but OpenSSL 3.
#
#   sh verify.sh PUBLIC_KEY.pem TASK
#
# TASK is as taskseal writes it: one line in canonical form with its signature inside. The bytes
# without that member are what is signed; they go to standard output, and only when the signature
# holds: read those, not the file. Exit code 1 is a refusal.
set -eu
if [ $# -ne 2 ]; then
  echo 'usage: sh verify.sh PUBLIC_KEY.pem TASK' >&2
  exit 2
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
refuse() {
  printf 'refused: %s\n' "$1" >&2
  exit 1
}
export LC_ALL=C
cat <"$2" >"$scratch/task"

# 64 bytes are 86 characters of base64url. More than one such member would leave open which one
# is meant.
member='"signature":"[A-Za-z0-9_-]\{86\}",'
[ "$(wc -l <"$scratch/task")" -le 1 ] || refuse 'it is not one line'
grep -o -e "$member" "$scratch/task" >"$scratch/members" || refuse 'it holds no signature'
[ "$(wc -l <"$scratch/members")" -eq 1 ] || refuse 'it holds several signatures'

# The canonical form has no line ends, and some tools add one.
sed "s/$member//" "$scratch/task" | tr -d '\n' >"$scratch/signed"
text=$(sed 's/^"signature":"//; s/",$//' "$scratch/members" | tr '_-' '/+')
printf '%s==\n' "$text" | openssl base64 -d -A >"$scratch/signature"

openssl pkeyutl -verify -rawin -pubin -inkey "$1" \
  -in "$scratch/signed" -sigfile "$scratch/signature" >/dev/null 2>&1 ||
  refuse 'the signature does not hold'
cat "$scratch/signed"
