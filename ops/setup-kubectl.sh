#!/usr/bin/env bash
# Gets a kubectl of at least 1.32 into .tools/bin (ignored by git), unless there or on PATH is one already.
# It comes as a package from a newer Debian suite, over the mirror that this machine's apt uses, with apt's own check of
# signatures; it is unpacked, not installed, and apt's lists stay as they are. Needs no root.
set -euo pipefail
cd "$(dirname "$0")/.."

least_minor=32
suites=(trixie forky sid)
tools=$PWD/.tools

# A kubectl that merely dispatches to other versions is none that can be relied on.
new_enough() {
  local version
  version=$("$1" version --client 2>/dev/null | sed -n 's/^Client Version: v1\.\([0-9]*\)\.[0-9]*\(+.*\)\{0,1\}$/\1/p')
  [ -n "$version" ] && [ "$version" -ge "$least_minor" ]
}

for candidate in "$tools/bin/kubectl" "$(command -v kubectl || true)"; do
  if [ -n "$candidate" ] && [ -x "$candidate" ] && new_enough "$candidate"; then
    echo "kubectl: $candidate is new enough"
    exit 0
  fi
done

say_why() { echo "kubectl: $1. Put a kubectl of 1.$least_minor or newer on PATH." >&2; exit 1; }
command -v apt-get >/dev/null || say_why 'there is no apt-get here'
mirror=$(apt-get indextargets --format '$(REPO_URI) $(ORIGIN) $(LABEL)' 'Created-By: Packages' 2>/dev/null |
  awk '$2 == "Debian" && $3 == "Debian" { print $1; exit }')
if [ -z "$mirror" ] && [ "$(. /etc/os-release && echo "${ID:-}")" = debian ]; then
  # The lists were never fetched: take the mirror from the sources themselves.
  mirror=$(sed -n -e 's/^URIs: *\([^ ]*\).*/\1/p' -e 's/^deb \(\[[^]]*\] \)\{0,1\}\([^ ]*\).*/\2/p' \
    /etc/apt/sources.list.d/*.sources /etc/apt/sources.list.d/*.list /etc/apt/sources.list 2>/dev/null |
    grep '/debian/*$' | head -n 1) || true
fi
[ -n "$mirror" ] || say_why 'this machine has no Debian mirror among its apt sources'

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/parts"
: >"$work/status" # As if nothing were installed: a newer kubectl from elsewhere would hide Debian's.
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
for suite in "${suites[@]}"; do
  echo "deb $([ -f "$keyring" ] && echo "[signed-by=$keyring] ")$mirror $suite main" >"$work/list"
  options=(-qq -o "Dir::Etc::SourceList=$work/list" -o "Dir::Etc::SourceParts=$work/parts"
    -o "Dir::State::Lists=$work/lists" -o "Dir::State::Status=$work/status" -o "Dir::Cache=$work/cache" -o Acquire::Languages=none
    -o "APT::Sandbox::User=$(id -un)" -o Debug::NoLocking=true)
  apt-get "${options[@]}" update || continue
  rm -rf "$work/package" "$work/unpacked"
  mkdir "$work/package"
  (cd "$work/package" && apt-get "${options[@]}" download kubectl 2>/dev/null) || continue
  dpkg -x "$work/package"/*.deb "$work/unpacked"
  if new_enough "$work/unpacked/usr/bin/kubectl"; then
    mkdir -p "$tools/bin"
    install -m 0755 "$work/unpacked/usr/bin/kubectl" "$tools/bin/kubectl"
    echo "kubectl: $("$tools/bin/kubectl" version --client | head -n 1) is in $tools/bin"
    exit 0
  fi
done
say_why 'no newer Debian suite of the mirror has one'
