/**
 * Lets the heap grow further between two full garbage collections.
 *
 * V8 counts the bytes of every Buffer that was made since the last one, up to 32 MB of which wait for a small collection anyway, and our
 * heap is small: by its own reckoning it looks at the whole heap some ten times a second while a file is carried, which costs this process as
 * much again as the carrying. Idle services are as small as before: V8 collects when nothing goes on.
 *
 * Where V8 does not know the flag (any more), it says so in a line on the error output, and nothing changes.
 */
import { setFlagsFromString } from 'node:v8';

/** How much may come before the next one, in hundredths of what lives. */
const GROWING_PERCENT = 150;

export function letHeapGrow(): void {
  setFlagsFromString(`--heap-growing-percent=${GROWING_PERCENT}`);
}
