/** Where the last usage of a stream says what the request has cost. */
import { BRAND } from '../../../brand.js';

export const COST_MEMBER = `x-${BRAND}-cost-usd`;
