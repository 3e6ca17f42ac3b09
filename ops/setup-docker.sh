#!/usr/bin/env bash
# A Docker daemon of its own for tests: `install` (Debian's docker.io and docker-registry), `start DIR`, `stop DIR`. It has no network, a user namespace for its
# containers, and one small image, `troupe-test/tools:1`, made of this machine's own files: no registry is needed. `start` prints where it
# listens, as DOCKER_HOST would have it. Needs root; the machine's own daemon, if there is one, is not touched.
set -euo pipefail

IMAGE=troupe-test/tools:1
# What is essential on every Debian, and what tests run.
PACKAGES='base-files base-passwd bash coreutils dash diffutils findutils grep gzip hostname libc-bin libc6 mawk netbase perl-base sed tar util-linux zstd'

install_docker() {
  if { ! command -v dockerd >/dev/null && [ ! -x /usr/sbin/dockerd ]; } || [ ! -x /usr/bin/docker-registry ]; then
    export DEBIAN_FRONTEND=noninteractive
    apt-get -q update
    # Its services stay off where nothing manages them.
    apt-get install -y -q --no-install-recommends docker.io docker-registry
  fi
  [ -x /usr/bin/docker ] || command -v docker >/dev/null
}

client() {
  if [ -x /usr/bin/docker ]; then /usr/bin/docker -H "$host" "$@"; else docker -H "$host" "$@"; fi
}

# Names of the files that the image is made of, without documentation and the like, then the libraries that programs load.
files() {
  local package
  for package in $PACKAGES; do dpkg -L "$package" "$package:$(dpkg --print-architecture)" 2>/dev/null || true; done |
    grep -Ev '^/usr/share/(doc|man|locale|info|lintian|perl5|bash-completion|bug|menu)|^/(etc/(shadow|gshadow|machine-id|init|cron|systemd|default|skel)|lib/systemd|usr/lib/systemd|boot|home|media|mnt|opt|srv|sys|proc|dev|run|root|tmp|var)(/|$)' |
    sort -u | while read -r file; do
      # Merged /usr: packages still name /bin and /lib.
      case $file in /bin/* | /sbin/* | /lib/* | /lib64/*) file=/usr$file ;; esac
      if [ -f "$file" ] || [ -L "$file" ]; then echo "$file"; fi
    done | sort -u >"$1/names"
  {
    cat "$1/names"
    # Scripts among them are no fault.
    { grep -E '^/usr/(bin|sbin)/' "$1/names" | xargs -r ldd 2>/dev/null || true; } | grep -oE '/[^ :()]+\.so[^ :()]*' | sed -E 's#^/(lib|lib64)/#/usr/\1/#' | sort -u |
      while read -r library; do echo "$library"; readlink -f "$library"; done
    printf '%s\n' /usr/lib64/ld-linux-x86-64.so.2 /usr/lib/x86_64-linux-gnu/libnss_files.so.2 /etc/passwd /etc/group /etc/nsswitch.conf
  } | sort -u | while read -r file; do if [ -e "$file" ]; then echo "${file#/}"; fi; done
}

make_image() {
  local place
  place=$(mktemp -d "$1/image.XXXXXX")
  files "$place" >"$place/list"
  mkdir -p "$place/root"/{etc,tmp,run,var,root,dev,proc,sys,usr/bin,usr/lib,usr/sbin,usr/lib64}
  tar -C / -cf - --no-recursion --files-from "$place/list" | tar -C "$place/root" -xf -
  local name
  for name in bin sbin lib lib64; do ln -s "usr/$name" "$place/root/$name"; done
  [ -e "$place/root/usr/bin/sh" ] || ln -s dash "$place/root/usr/bin/sh"
  [ -e "$place/root/usr/bin/awk" ] || ln -s mawk "$place/root/usr/bin/awk"
  ln -s ../run "$place/root/var/run"
  ln -s ../tmp "$place/root/var/tmp"
  chmod 1777 "$place/root/tmp"
  chmod 700 "$place/root/root"
  tar -C "$place/root" --owner=0 --group=0 -cf - . | client import - "$IMAGE" >/dev/null
  rm -rf "$place"
}

start() {
  mkdir -p "$1"
  chmod 711 "$1"
  host=unix://$1/docker.sock
  local remap=(--userns-remap=default) path=/usr/sbin:/usr/bin:/sbin:/bin
  # Neither bridges nor rules of a firewall: nothing of the machine's network is touched.
  # What is nothing for the daemon cannot be one byte for a container.
  ulimit -c unlimited 2>/dev/null || true
  launch() {
    PATH=$path setsid dockerd "$@" --bridge=none --iptables=false --ip6tables=false --data-root "$dir/data" --exec-root "$dir/exec" \
      --pidfile "$dir/pid" -H "$host" >"$dir/log" 2>&1 </dev/null &
  }
  local dir=$1 way
  for way in remap plain; do
    if [ "$way" = remap ]; then launch "${remap[@]}"; else launch; fi
    for _ in $(seq 150); do
      if client version >/dev/null 2>&1; then
        make_image "$dir"
        echo "$host"
        return
      fi
      kill -0 $! 2>/dev/null || break
      sleep 0.1
    done
    kill $! 2>/dev/null || true
  done
  echo 'the Docker daemon does not start:' >&2
  tail -n 5 "$dir/log" >&2
  return 1
}

stop() {
  local pid
  pid=$(cat "$1/pid" 2>/dev/null) || return 0
  kill "$pid" 2>/dev/null || true
  for _ in $(seq 200); do
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.1
  done
  # What it had mounted when it was killed.
  grep -F " $1/" /proc/mounts | awk '{print $2}' | sort -r | xargs -r umount -l 2>/dev/null || true
  rm -rf "$1"
}

case ${1-} in
  install) install_docker ;;
  start) start "$2" ;;
  stop) stop "$2" ;;
  *) echo "usage: $0 install | start DIR | stop DIR" >&2; exit 2 ;;
esac
