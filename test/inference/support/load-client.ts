/**
 * A client in a process of its own, for tests of load: asks without a pause, on several connections, until its time is over and it has been refused, and
 * prints how many answers of each status it got. Arguments: URL, key, model, connections, ms.
 */
const [url = '', key = '', model = '', connections = '', ms = ''] = process.argv.slice(2);
const until = performance.now() + Number(ms);
/** Where nothing is ever refused. */
const LONGEST_MS = 30_000;
const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }], max_tokens: 5 });
const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
const counts: Record<string, number> = {};

function goesOn(now: number): boolean {
  return now < until || (counts['429'] === undefined && now < until + LONGEST_MS);
}

async function ask(): Promise<void> {
  while (goesOn(performance.now())) {
    try {
      const answer = await fetch(url, { method: 'POST', headers, body });
      await answer.text();
      counts[answer.status] = (counts[answer.status] ?? 0) + 1;
    } catch {
      counts['none'] = (counts['none'] ?? 0) + 1;
    }
  }
}

await Promise.all(Array.from({ length: Number(connections) }, ask));
process.stdout.write(JSON.stringify(counts));
