/** The operator's switch that pauses new work. Whole store: the leader reads it at its start. */
import type { Postgres, Statement } from './postgres.js';

export interface AdmissionSwitch {
  read(): Promise<boolean>;
  set(paused: boolean): Promise<void>;
}

export function openAdmissionSwitch(postgres: Postgres): AdmissionSwitch {
  return {
    async read() {
      const [row] = await postgres.readRows<[boolean]>(READ);
      return row?.[0] ?? false;
    },
    async set(paused) {
      await postgres.write(SET, [paused]);
    },
  };
}

const READ: Statement = { name: 'admissions', text: 'SELECT admissions_paused FROM clock' };

/** Result: the switch stands as given; setting it twice is setting it once. */
const SET: Statement = { name: 'set admissions', text: 'UPDATE clock SET admissions_paused = $1' };
