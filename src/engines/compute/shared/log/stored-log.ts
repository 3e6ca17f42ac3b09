/** What the engine asks of a logger; pino's will do. */
export interface EngineLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

export const silentLog: EngineLog = { info: () => undefined, warn: () => undefined };
