/**
 * For whom room gathers on a machine: while it does, all others wait, so that pieces of work that end make room for a larger one.
 *
 * It costs others room that stands empty, so it is bounded. It lasts `LONGEST_MS` at most. When the work for which room gathers finds its
 * place, nobody gathers for twice as long as that took. When it was in vain (what uses the rest may never end), its org does not gather
 * for `PAUSE_MS`, and nobody for `REST_MS`: an org that asks for what it cannot have takes a sixth of the time at most, and many such orgs half.
 */
export const LONGEST_MS = 30_000;
export const PAUSE_MS = 150_000;
export const REST_MS = 30_000;

/** What a gathering that succeeds costs is room that fills up; a gathering in vain costs all of it. */
const REST_AFTER_SUCCESS = 2;

interface Gatherer {
  readonly uid: string;
  readonly org: string;
}

export class Gathering {
  /** The last one. */
  #last: (Gatherer & { readonly since: number }) | undefined;
  /** When room may gather again, for anybody. */
  #again = -Infinity;
  /** The same of orgs that gathered in vain: as many as can within `PAUSE_MS`. */
  readonly #orgsAgain = new Map<string, number>();

  /** The last one for which room gathered. */
  get last(): string | undefined {
    return this.#last?.uid;
  }

  /** For whom room gathers now. */
  at(now: number): string | undefined {
    return this.#last !== undefined && now < this.#last.since + LONGEST_MS ? this.#last.uid : undefined;
  }

  may(org: string, now: number): boolean {
    return now >= this.#again && now >= (this.#orgsAgain.get(org) ?? -Infinity);
  }

  /** It is in vain until it is known to have succeeded. */
  begin({ uid, org }: Gatherer, now: number): void {
    for (const [other, again] of this.#orgsAgain) if (again <= now) this.#orgsAgain.delete(other);
    this.#last = { uid, org, since: now };
    this.#again = now + LONGEST_MS + REST_MS;
    this.#orgsAgain.set(org, now + LONGEST_MS + PAUSE_MS);
  }

  /** This one has its place. */
  placed(uid: string, now: number): void {
    if (this.#last?.uid !== uid || this.at(now) === undefined) return;
    this.#again = now + REST_AFTER_SUCCESS * (now - this.#last.since);
    this.#orgsAgain.delete(this.#last.org);
    this.#last = undefined;
  }
}
