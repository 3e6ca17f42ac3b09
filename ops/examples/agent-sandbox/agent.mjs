// What a coding agent does in a Sandbox: create it, write files, run the tests, mend, read the result, stop, come back.
// Needs Node 20 alone and a running service (URL, KEY). `wait`: what is starting takes the request as soon as it runs.
import { readFileSync } from 'node:fs';

const KEY_FILE = '.data/admin.key';
const { URL: base = 'http://127.0.0.1:8080', KEY = ownersKey() } = process.env;
const sandboxes = `${base}/apis/svc.dev/v1/namespaces/default/sandboxes`;
const one = `${sandboxes}/agent`;
/** Of a service that was started in this directory. */
function ownersKey() {
  try {
    return readFileSync(KEY_FILE, 'utf8').trim();
  } catch (error) {
    process.stderr.write(
      `${KEY_FILE} cannot be read (${error.code}). Start the service with \`npm start\` and run this where you started it, ` +
        'or set KEY to an API key and URL to the address of the service.\n',
    );
    process.exit(1);
  }
}
const say = (text) => process.stdout.write(`${text}\n`);

async function call(method, url, body, type = 'application/json') {
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': type };
  const response = await fetch(url, body === undefined ? { method, headers } : { method, headers, body });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${url}: ${response.status} ${text}`);
  return text;
}
const write = (path, text) => call('PUT', `${one}/files?path=${path}&wait=60s`, text, 'application/octet-stream');
const set = (state) => call('PATCH', one, JSON.stringify({ spec: { state } }), 'application/merge-patch+json');
async function run(...command) {
  const result = JSON.parse(await call('POST', `${one}/exec?wait=60s`, JSON.stringify({ command, timeout: '60s' })));
  say(`$ ${command.join(' ')}\n${result.stdout}${result.stderr}[exit code ${result.exitCode}]`);
  return result.exitCode;
}

const spec = { image: 'svc/agent-tools', resources: { cpu: '500m', memory: '256Mi', disk: '1Gi' } };
await call('POST', sandboxes, JSON.stringify({ metadata: { name: 'agent' }, spec }));
await write('/workspace/add.sh', 'echo $(($1 - $2))\n');
await write('/workspace/test.sh', '[ "$(sh add.sh 40 2)" = 42 ] && echo passed >result || { echo failed; exit 1; }\n');
if ((await run('sh', 'test.sh')) !== 0) await write('/workspace/add.sh', 'echo $(($1 + $2))\n');
await run('sh', 'test.sh');
say(`result: ${(await call('GET', `${one}/files?path=/workspace/result`)).trim()}`);
await set('Stopped');
while (JSON.parse(await call('GET', one)).status.phase !== 'Stopped') await new Promise((go) => setTimeout(go, 50));
await set('Running');
await run('cat', 'result');
await call('DELETE', one);
