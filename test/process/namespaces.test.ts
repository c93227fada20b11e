import { describe, expect, test, type TestContext } from 'vitest';
import { ownIdentity } from '../../lib/process/own-identity.js';
import { linesOf, script, start } from './support/children.js';
import { fromJson, toJson } from './support/identity-json.js';

// The injected variants of these cases are in own-identity.test.ts and liveness.test.ts; here the kernel plays itself.
const GONE = '{"pid":4000000,"thread":4000000}';
const asRoot = process.getuid!() === 0 ? [] : ['--map-root-user'];

/** Runs a script in new namespaces; skips the test where the kernel does not let us have them. */
async function unshared(
  { skip }: TestContext,
  flags: readonly string[],
  command: readonly string[],
  env: Record<string, string> = {},
) {
  const unshare = [...asRoot, ...flags];
  const refusal = await linesOf(['unshare', ...unshare, 'true']).then(() => null, String);
  skip(refusal !== null, `unshare ${unshare.join(' ')} is refused here: ${refusal}`);
  const [first = '', ...verdicts] = await linesOf(['unshare', ...unshare, ...command], env);
  return { first, verdicts };
}

describe('in another PID namespace', () => {
  const flags = ['--pid', '--fork', '--kill-child', '--mount-proc'];

  test('a process is of another host, and judges its own one only', async (context) => {
    const command = script('judge-process.ts', '{}', GONE, '{"started":"1"}', toJson(ownIdentity()));
    const { first, verdicts } = await unshared(context, flags, command);
    const inner = fromJson(first);

    expect(inner).toMatchObject({ pid: 1, thread: 1 });
    expect(inner.started).toMatch(/^\d+$/);
    expect(inner.hostKey).not.toEqual(ownIdentity().hostKey);
    expect(verdicts).toEqual(['alive', 'dead', 'dead', 'unknown']);
  });

  test('with the outer /proc, only kill(2) is believed', async (context) => {
    const command = script('judge-process.ts', '{}', GONE, '{"started":"1"}', toJson(ownIdentity()));
    const { first, verdicts } = await unshared(context, ['--pid', '--fork', '--kill-child'], command);

    expect(fromJson(first)).toMatchObject({ pid: 1, thread: 1, started: '' });
    expect(fromJson(first).hostKey).not.toEqual(ownIdentity().hostKey);
    expect(verdicts).toEqual(['alive', 'dead', 'alive', 'unknown']);
  });

  test("a worker thread whose id became another process's thread is dead", async (context) => {
    const { first, verdicts } = await unshared(context, flags, script('reused-thread-id.ts'));

    context.skip(first.endsWith('here'), first);
    expect(first).toBe('reused');
    expect(verdicts).toEqual(['dead', 'alive']);
  });
});

test('in another time namespace starts are not compared, and the living stay alive', async (context) => {
  const flags = ['--time', '--boottime', '100000'];
  const command = script('judge-process.ts', '{}', GONE, toJson(ownIdentity()), '{"started":"1"}');
  const { first, verdicts } = await unshared(context, flags, command);

  expect(fromJson(first)).toMatchObject({ hostKey: ownIdentity().hostKey, started: '' });
  expect(verdicts).toEqual(['alive', 'dead', 'alive', 'alive']);
});

test('where hidepid hides the processes of others, they are alive as long as they exist', async (context) => {
  context.skip(process.getuid!() !== 0, 'only root can mount /proc with hidepid and then be another user');
  const child = await start('sleep', ['100']);
  const visible = { pid: child.pid, thread: child.pid, started: '1' };
  const hidden = 'mount -t proc -o hidepid=2 proc /proc && exec "$@"';
  const command = script('judge-process.ts', '{}', GONE, JSON.stringify(visible), '{"started":"1"}');
  const env = { NOBODY: '65534' };
  const { first, verdicts } = await unshared(
    context,
    ['--mount'],
    ['sh', '-c', hidden, 'sh', ...command],
    env,
  );

  expect(fromJson(first).hostKey).toEqual(ownIdentity().hostKey);
  expect(fromJson(first).started).toMatch(/^\d+$/);
  expect(verdicts).toEqual(['alive', 'dead', 'alive', 'dead']);
});
