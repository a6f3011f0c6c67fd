#!/bin/sh
# Checks what `taskseal sign --format sshsig` made, with nothing but OpenSSH's ssh-keygen.
#
#   sh verify.sh PROFILE ALLOWED_SIGNERS ISSUER DOCUMENT SIGNATURE
#
# DOCUMENT is in canonical form, as `taskseal canon` writes it: what is signed are its bytes. They
# go to standard output, and only when the signature holds. Exit code 1 is a refusal.
set -eu
if [ $# -ne 5 ]; then
  echo 'usage: sh verify.sh PROFILE ALLOWED_SIGNERS ISSUER DOCUMENT SIGNATURE' >&2
  exit 2
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# A copy, so that what is printed is what was checked.
cat <"$4" >"$scratch/document"

# One namespace a profile: a signature for another one does not verify, and neither does a key
# whose line lists other namespaces, or whose valid-after and valid-before are not now.
namespace=taskseal.$(printf %s "$1" | tr / .)
if ! said=$(ssh-keygen -Y verify -f "$2" -I "$3" -n "$namespace" -s "$5" \
  <"$scratch/document" 2>&1); then
  printf 'refused: %s\n' "$said" >&2
  exit 1
fi
cat "$scratch/document"
