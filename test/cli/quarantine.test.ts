import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { openOwnRedis } from './own-redis.ts';
import { runTurnfold } from './run-turnfold.ts';

test('the quarantine commands list unreadable records, restore one and delete another', async () => {
  const { url } = await openOwnRedis();
  const redis = new Redis(url);
  onTestFinished(() => redis.disconnect());
  const at = Date.UTC(2026, 0, 2);
  await redis.hset('{tf}:database', { schema: 1, shards: 256 });
  await redis.hset('{tf3}:quarantined', {
    'ready|t|_|c1': `${at} 5 corrupt {tf3}:_:c:c1 head`,
    'ready|x': `${at} - the entry names no turn, pass or conversation`,
  });
  const env = { REDIS_URL: url };

  const listed = await runTurnfold(['quarantine', '--json'], { env });
  expect(
    listed.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown),
  ).toEqual(
    expect.arrayContaining([
      { shard: 3, name: 'ready|t|_|c1', at, why: 'corrupt {tf3}:_:c:c1 head' },
      { shard: 3, name: 'ready|x', at, why: 'the entry names no turn, pass or conversation' },
    ]),
  );
  const doctor = await runTurnfold(['doctor', '--json'], { env });
  expect(JSON.parse(doctor.stdout)).toMatchObject({
    checks: expect.arrayContaining([
      expect.objectContaining({
        name: 'corrupt records',
        state: 'wrong',
        what: expect.stringContaining('{tf3}:_:c:c1 head'),
      }),
    ]),
  });

  expect((await runTurnfold(['quarantine', 'restore', '3', 'ready|t|_|c1'], { env })).code).toBe(0);
  expect(await redis.zrange('{tf3}:ready', 0, '-1')).toEqual(['t|_|c1']);
  expect((await runTurnfold(['quarantine', 'drop', '3', 'ready|x'], { env })).code).toBe(0);
  expect(await redis.exists('{tf3}:quarantined')).toBe(0);
  const missing = await runTurnfold(['quarantine', 'drop', '3', 'ready|x'], { env });
  expect(missing.code).toBe(1);
  expect(missing.stderr).toContain('not_found');
});

test('no command restores or drops a record of a database with a newer schema', async () => {
  const { url } = await openOwnRedis();
  const redis = new Redis(url);
  onTestFinished(() => redis.disconnect());
  await redis.hset('{tf}:database', { schema: 99, shards: 256 });
  await redis.hset('{tf3}:quarantined', 'ready|kept', `${Date.now()} 1 why`);
  for (const verb of ['restore', 'drop']) {
    const { code, stderr } = await runTurnfold(['quarantine', verb, '3', 'ready|kept'], {
      env: { REDIS_URL: url },
    });
    expect([verb, code, stderr]).toEqual([
      verb,
      expect.any(Number),
      expect.stringContaining('incompatible_store: schema'),
    ]);
    expect(code).not.toBe(0);
  }
  expect(await redis.hexists('{tf3}:quarantined', 'ready|kept')).toBe(1);
});
