/** The one error that callers of an engine must tell apart: what the runner, or the way to it, refused and why. */

/** Why a runner refuses; `StaleEpoch` is final for the client, `Busy` may be tried again later. */
export type RefusalCode = 'StaleEpoch' | 'Busy' | 'Invalid' | 'Unavailable' | 'Failed';

/**
 * `StaleEpoch`: this process is no longer the one whose orders count. `Busy`: try again when something has ended. `Invalid`: the
 * order can never be taken. `Unavailable`: the runner cannot be reached or cannot remember; try again. `Failed`: see the message.
 */
export class EngineRefusal extends Error {
  readonly code: RefusalCode;

  constructor(code: RefusalCode, message: string) {
    super(message);
    this.name = 'EngineRefusal';
    this.code = code;
  }
}

/** The connection broke while a request was on its way: every request may be asked again, as all are idempotent. */
export class ConnectionEnded extends EngineRefusal {
  constructor() {
    super('Unavailable', 'the connection to the runner ended');
  }
}
