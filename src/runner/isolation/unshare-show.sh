# Part of the script that builds a box (unshare.ts).
#
# show SOURCE TARGET PATTERN ro|rw: binds a path with all that is mounted below it, since the kernel lets no user of a namespace bind a part of
# a tree that was mounted as a whole. PATTERN is the target as the table of mounts has it. Each mount keeps the flags that it has: those that
# were set outside of the namespace cannot be taken away.
show() {
  mount -n --rbind "$1" "$2"
  while read -r id parent device root at flags rest; do
    case "$at" in "$3" | "$3"/*) ;; *) continue ;; esac
    case "$flags" in ro*) write=ro ;; *) write=$4 ;; esac
    # The first flag is `ro` or `rw`.
    mount -n -o "remount,bind,$write,nosuid,nodev,${flags#r?}" "$(printf %b "$at")"
  done </proc/self/mountinfo
}
