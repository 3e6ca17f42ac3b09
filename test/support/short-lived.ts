/**
 * Loaded before a program that lives for seconds (`node --import`): ava, and the services that tests start and kill. V8 compiles code anew
 * that turns out to be used much, which pays for a service of days; here it took a sixth of all processor time. Now ten times as much use is
 * wanted before. Nothing else is different. From Node 22 on V8 does not know the flag, and says so in the output of whoever is tested.
 */
import { setFlagsFromString } from 'node:v8';

/** Bytes of byte code that a function has run. */
const BUDGET = 1_000_000;

if (Number(process.versions.node.split('.')[0]) < 22) setFlagsFromString(`--interrupt-budget=${BUDGET}`);
