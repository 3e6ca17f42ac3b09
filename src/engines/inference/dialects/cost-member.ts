/** Members of ours in the usage of an answer. */
import { BRAND } from '../../../brand.js';

/** What the request has cost, in the last usage of a stream. */
export const COST_MEMBER = `x-${BRAND}-cost-usd`;
/** True: the figures are our count, since the upstream reports none. */
export const ESTIMATED_MEMBER = `x-${BRAND}-estimated`;
