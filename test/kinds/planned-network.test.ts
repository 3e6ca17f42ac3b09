import test from 'ava';
import { network, NETWORK_PRESETS, plannedNetwork } from '../../src/kinds/shapes/network.js';

test('what nobody has said is Open', (t) => {
  for (const spec of [undefined, {}, { egress: {} }, { egress: { policy: 'Open' as const } }]) {
    t.deepEqual(plannedNetwork(spec), { egress: 'Open' });
  }
  t.deepEqual(plannedNetwork({ egress: { policy: 'Deny' } }), { egress: 'Deny' });
});

test('an AllowList is its own hosts and those of its presets, each once and in lower case', (t) => {
  const egress = { policy: 'AllowList' as const, allow: ['Example.ORG', 'pypi.org'], presets: ['pypi'] };
  t.deepEqual(plannedNetwork({ egress }), {
    egress: 'AllowList',
    hosts: ['example.org', 'files.pythonhosted.org', 'pypi.org', 'pythonhosted.org'],
  });
  t.deepEqual(plannedNetwork({ egress: { policy: 'AllowList' } }), { egress: 'AllowList', hosts: [] });
});

test('every host of every preset is one that a customer could have written', (t) => {
  for (const [name, hosts] of NETWORK_PRESETS) {
    t.true(network.safeParse({ egress: { policy: 'AllowList', allow: hosts } }).success, name);
    t.deepEqual(hosts, [...new Set(hosts.map((host) => host.toLowerCase()))], name);
  }
});
