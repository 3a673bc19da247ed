#!/bin/bash
# The base image of the Dockerfile, made on this machine instead of pulled: a minimal Debian 12.
#   image/base.sh           makes it where it is not there yet, and prints the path of its archive
#   image/base.sh DIR       also imports it as debian:12 into the engine of `image/engine start DIR`
# Where packages come from, and by which proxy, is read from the machine's own apt configuration and
# goes into the image, so that builds on top of it use the same mirrors. The archive is kept in
# build/image; remove that folder to make it anew.
set -euo pipefail
cd "$(dirname "$0")/.."
fail() { echo "image/base.sh: $*" >&2; exit 1; }

name=debian:12
folder=build/image
archive=$folder/debian-12.tar

# One line of sources.list for each Debian archive that apt knows. Mirrors carry Debian's signatures.
sources() {
  apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' \
    'Origin: Debian' 'Identifier: Packages' | sort -u
}

make() {
  command -v mmdebstrap >/dev/null || fail "no mmdebstrap: run scripts/install-packages container"
  local list
  list=$(sources)
  if [ -z "$list" ]; then apt-get update -qq >&2; list=$(sources); fi
  [ -n "$list" ] || fail "apt has no Debian archive: see apt-get indextargets"
  grep -q ' bookworm ' <<< "$list" || fail "apt's Debian is not 12 (bookworm)"

  local options=() option
  while read -r option; do options+=("--aptopt=$option"); done < <(
    apt-config dump | grep -E '^Acquire::(https?::.*Proxy|https?::Proxy|Check-|Retries)' || true)
  mkdir -p "$folder"
  echo "making $name with mmdebstrap" >&2
  mmdebstrap --quiet --format=tar --variant=minbase "${options[@]}" --dpkgopt='path-exclude=/usr/share/doc/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/share/man/*' \
    bookworm "$archive.new" - <<< "$list" >&2
  mv "$archive.new" "$archive"
}

[ $# -le 1 ] || { sed -n '2,7s/^# \{0,1\}//p' "$0" >&2; exit 2; }
[ -f "$archive" ] || make
if [ $# -eq 0 ]; then echo "$PWD/$archive"; exit; fi

# The image carries the archive's date, by which a second import is spared.
stamp=$(stat -c %Y "$archive")
if [ "$(image/engine docker "$1" image inspect --format '{{.Comment}}' $name 2>/dev/null)" != "made $stamp" ]; then
  image/engine docker "$1" import --message "made $stamp" --change 'CMD ["bash"]' "$archive" $name >/dev/null
fi
