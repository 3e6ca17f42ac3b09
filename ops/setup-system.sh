#!/usr/bin/env bash
# `npm run setup:system`: installs, on Debian and Ubuntu, the system packages that make more of Troupe work. The service
# runs without any of them, and says in /readyz what it then cannot do.
set -euo pipefail

# program: package: what it is for
wanted='bwrap:bubblewrap:starting work in 7 ms instead of 41
perl:perl-base:Sandboxes, Workspaces, and work with init, sidecars or commands
zstd:zstd:directories as inputs and outputs
setpriv:util-linux:isolation of work
redis-server:redis-server:tests on Redis (a server for REDIS_URL may be elsewhere)
ip:iproute2:tests that lose packets
iptables:iptables:tests that lose packets
perlcritic:libperl-critic-perl:tests of what the programs in Perl are written like
busybox:busybox:tests of files in images that have nothing else
ssh:openssh-client:tests of SSH into Workspaces
/usr/bin/chromium:chromium:tests of the payment pages in a browser
/usr/lib/openssh/sftp-server:openssh-sftp-server:scp and sftp into Workspaces on the images of this machine'

missing=()
while IFS=: read -r program package purpose; do
  if command -v "$program" >/dev/null || [ -x "/usr/sbin/$program" ]; then
    echo "$program is here ($purpose)"
  else
    echo "$program is missing: package $package, for $purpose"
    missing+=("$package")
  fi
done <<<"$wanted"
[ ${#missing[@]} -gt 0 ] || exit 0

if ! command -v apt-get >/dev/null; then
  echo "This script knows Debian and Ubuntu only. Install these by your system's means: ${missing[*]}" >&2
  exit 1
fi
run=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "Run this as root: apt-get install ${missing[*]}" >&2; exit 1; }
  run=(sudo)
fi
export DEBIAN_FRONTEND=noninteractive
# The packages' services stay off: tests start their own Redis.
"${run[@]}" apt-get -q update
"${run[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}"
