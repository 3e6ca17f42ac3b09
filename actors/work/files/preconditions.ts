/**
 * The conditions that a client sets on the file that it writes or deletes (RFC 9110, 13.1): its ETag is the SHA-256 of its bytes. The
 * script itself compares, as the last thing before it changes the file. No other change through the API comes between the two
 * (`write-locks.ts`); a program inside can still write there, and so can an archive that is being unpacked. That there was no file holds
 * against those as well, since the name is then taken by a link, which replaces nothing.
 */
import { EXIT } from './faults.js';
import type { Sharing } from './write-locks.js';

/** `*`: any file. Else the ETags, without quotes. */
export type Tags = '*' | readonly string[];

export interface Preconditions {
  /** The file is one of these. */
  readonly ifMatch?: Tags | undefined;
  /** The file is none of these. */
  readonly ifNoneMatch?: Tags | undefined;
}

/** Of the function `holds FILE IF-MATCH IF-NONE-MATCH`, which exits when they do not; before that it calls `unheld`. */
export const HOLDS = `
unheld() { :; }
holds() {
  [ -n "$2$3" ] || return 0
  h=
  if [ -f "$1" ]; then
    case "$2$3" in *[0-9a-f]*)
      h=$(openssl dgst -sha256 -r 2>/dev/null <"$1") || h=$(sha256sum <"$1") || { e=$?; unheld; exit $e; }
      h=\${h%% *}
    esac
  fi
  case $2 in
    '') ;;
    '*') [ -e "$1" ] || [ -L "$1" ] || { unheld; exit ${EXIT.unmatched}; } ;;
    *) case " $2 " in *" \${h:-none} "*) ;; *) unheld; exit ${EXIT.unmatched} ;; esac
  esac
  case $3 in
    '') ;;
    '*') if [ -e "$1" ] || [ -L "$1" ]; then unheld; exit ${EXIT.matched}; fi ;;
    *) case " $3 " in *" \${h:-none} "*) unheld; exit ${EXIT.matched} ;; esac
  esac
}
`;

/** The two arguments of it. */
export function wordsOf({ ifMatch, ifNoneMatch }: Preconditions): readonly [string, string] {
  return [wordOf(ifMatch), wordOf(ifNoneMatch)];
}

/** A link that replaces nothing needs no lock. */
export function sharingOf({ ifMatch, ifNoneMatch }: Preconditions): Sharing {
  return ifMatch === undefined && (ifNoneMatch === undefined || ifNoneMatch === '*') ? 'Shared' : 'Alone';
}

/** What cannot be the tag of a file matches none. */
function wordOf(tags: Tags | undefined): string {
  if (tags === undefined || tags === '*') return tags ?? '';
  return ['-', ...tags.filter((tag) => /^[0-9a-f]{64}$/.test(tag))].join(' ');
}
