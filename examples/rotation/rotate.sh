#!/bin/sh
# rotate.sh NAME KEYSET: the newest key of NAME hands over to the next one, and KEYSET says so.
# Run it as often as you like: a rotation under way is left alone, the keyset is made anew.
set -eu
name=$1 keyset=$2 next=$2.next
taskseal keys rotate "$name" --lead "${LEAD:-48h}" --overlap "${OVERLAP:-24h}" --json
taskseal keyset propose --current "$keyset" --force -o "$next"
taskseal keyset sign "$next" --current "$keyset"
taskseal keyset publish "$next" --current "$keyset" --force -o "$keyset"
rm "$next"
