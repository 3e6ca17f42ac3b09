import test from 'ava';
import { faultOf } from '../../actors/work/files/faults.js';

test('what a program says of the system is told by the path and with what to do instead', (t) => {
  const told = (complaint: string): unknown[] => {
    const { refusal } = faultOf(1, complaint, '/etc/x');
    return [refusal.code, refusal.message, refusal.fix?.includes('/workspace') ?? false];
  };
  t.deepEqual(told('sh: 18: cannot create /etc/x: Read-only file system\n'), [
    'Forbidden',
    '"/etc/x" is on a read-only file system',
    true,
  ]);
  t.deepEqual(told('mv: cannot move a: Permission denied'), [
    'Forbidden',
    'permission denied for "/etc/x": mv: cannot move a: Permission denied',
    true,
  ]);
  t.deepEqual(told('cat: /etc/x: No such file or directory').slice(0, 2), ['NotFound', 'file "/etc/x" not found']);
});
