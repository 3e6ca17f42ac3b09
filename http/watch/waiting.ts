/**
 * Counts what waits in memory for the watches of each org, in bytes, and says which of its watches have to go.
 *
 * A chunk that many watches of an org wait for is one buffer and counts once; for each of the watches that wait for it
 * HOLDER_BYTES come on top, which is what an entry in a socket's queue costs.
 *
 * I10: one org holds at most half of what there is, and all together hold at most all of it: when that is exceeded, an org
 * keeps an equal part. Of an org that holds more, those watches are cut that wait for its oldest chunks.
 */
export interface Piece {
  readonly org: string;
  readonly size: number;
  /** What the org had ever held before this: the age of the piece, in bytes. */
  readonly at: number;
  holders: number;
}

export interface Waiting {
  /** One more watch of the org waits for this chunk. */
  hold(org: string, chunk: Buffer): Piece;
  /** One watch less. */
  release(piece: Piece): void;
  /** The org holds more than its share, and who waits for this piece is among its slowest. */
  tooOld(piece: Piece): boolean;
  bytes(org: string): number;
}

interface Org {
  /** Oldest first; each has a holder. */
  readonly pieces: Set<Piece>;
  held: number;
  /** Of all that was ever held. */
  total: number;
}

export const WAITING_BYTES = 256 * 1024 * 1024;
export const HOLDER_BYTES = 100;

export function openWaiting(most: number): Waiting {
  const orgs = new Map<string, Org>();
  const known = new WeakMap<Buffer, Piece>();
  let all = 0;

  function add(org: Org, bytes: number): void {
    org.held += bytes;
    all += bytes;
    if (bytes > 0) org.total += bytes;
  }

  function pieceOf(name: string, org: Org, chunk: Buffer): Piece {
    let piece = known.get(chunk);
    if (piece === undefined || piece.holders === 0) {
      piece = { org: name, size: chunk.length, at: org.total, holders: 0 };
      known.set(chunk, piece);
      org.pieces.add(piece);
      add(org, piece.size);
    }
    return piece;
  }

  return {
    hold(name, chunk) {
      let org = orgs.get(name);
      if (org === undefined) orgs.set(name, (org = { pieces: new Set(), held: 0, total: 0 }));
      const piece = pieceOf(name, org, chunk);
      piece.holders += 1;
      add(org, HOLDER_BYTES);
      return piece;
    },
    release(piece) {
      const org = orgs.get(piece.org);
      if (org === undefined) return;
      piece.holders -= 1;
      add(org, -HOLDER_BYTES);
      if (piece.holders > 0) return;
      org.pieces.delete(piece);
      add(org, -piece.size);
      if (org.pieces.size === 0) orgs.delete(piece.org);
    },
    tooOld(piece) {
      const org = orgs.get(piece.org);
      if (org === undefined) return false;
      const share = all > most ? Math.min(most / 2, most / orgs.size) : most / 2;
      const oldest = org.held > share ? org.pieces.values().next().value : undefined;
      return oldest !== undefined && piece.at - oldest.at < org.held - share;
    },
    bytes: (name) => orgs.get(name)?.held ?? 0,
  };
}
