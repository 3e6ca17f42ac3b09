/**
 * The contract of every compute engine, as a table of cases: what work sees, what it cannot see, how it ends, what it leaves.
 * An engine's own test file runs the table over each way in which the engine can be set up; see `namespaces.test.ts`.
 */
import type { ContractCase } from './contract/case.js';
import { bombCases } from './contract/bombs.js';
import { boundaryCases } from './contract/boundary.js';
import { execCases } from './contract/exec.js';
import { dataCases } from './contract/data.js';
import { fileCases } from './contract/files.js';
import { homeCases } from './contract/home.js';
import { hostileCases } from './contract/hostile.js';
import { kernelCases } from './contract/kernel.js';
import { lifeCases } from './contract/life.js';
import { limitCases } from './contract/limits.js';
import { logCases } from './contract/logs.js';
import { portCases } from './contract/ports.js';
import { processCases } from './contract/processes.js';
import { networkCases } from './contract/network.js';
import { reuseCases } from './contract/reuse.js';
import { sidecarCases } from './contract/sidecars.js';
import { terminalCases } from './contract/terminals.js';

export const computeContract: readonly ContractCase[] = [
  ...lifeCases,
  ...boundaryCases,
  ...fileCases,
  ...homeCases,
  ...limitCases,
  ...logCases,
  ...sidecarCases,
  ...networkCases,
  ...execCases,
  ...dataCases,
  ...terminalCases,
  ...processCases,
  ...portCases,
  ...hostileCases,
  ...kernelCases,
  ...bombCases,
  ...reuseCases,
];
