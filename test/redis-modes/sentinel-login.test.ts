import { describe, expect, test } from 'vitest';
import { connectStore } from '../../src/store/connect-store.ts';
import { useServer } from './fixture.ts';
import { hasServer } from './servers.ts';

/** Starts a master with the user `app`, and a Sentinel. @returns the address of the Sentinel */
async function start(sentinelArgs: readonly string[], password?: string): Promise<string> {
  const master = await useServer();
  await master.redis.call('ACL', 'SETUSER', 'app', 'on', '>pw', '~*', '&*', '+@all');
  await master.redis.call('ACL', 'SETUSER', 'default', 'resetpass', '>pw');
  const { port } = await useServer({
    sentinelOf: `sentinel monitor main 127.0.0.1 ${master.port} 1\nsentinel auth-pass main pw\nuser look on >seen ~* &* +@all\n`,
    args: sentinelArgs,
    ...(password !== undefined && { password }),
  });
  return `127.0.0.1:${port}/main`;
}

async function connect(url: string): Promise<string> {
  const store = await connectStore({ url, shards: 4, failsFast: true });
  await store.close();
  return 'connected';
}

describe.skipIf(!hasServer)('Sentinels (skipped where PATH has no server)', () => {
  test.each([
    { name: 'without a password, whose master has a password', args: [], login: ':pw', query: '' },
    { name: 'without a password, whose master has users', args: [], login: 'app:pw', query: '' },
    { name: 'with the password of the master', args: ['--requirepass', 'pw'], login: ':pw', query: '' },
    { name: 'with the password of a user of the master', args: ['--requirepass', 'pw'], login: 'app:pw', query: '' },
    {
      name: 'with a password of their own',
      args: ['--requirepass', 'a+b@c'],
      login: 'app:pw',
      query: '?sentinelPassword=a+b%40c',
    },
    {
      name: 'with users of their own',
      args: ['--requirepass', 'x'],
      login: ':pw',
      query: '?sentinelUsername=look&sentinelPassword=seen',
    },
  ])('a client connects over Sentinels $name', async ({ args, login, query }) => {
    const [, password] = args;
    const where = await start(args, password);
    const url = `redis+sentinel://${login}@${where}${query}`;
    await expect.poll(() => connect(url).catch(String), { timeout: 60_000 }).toBe('connected');
  });

  test.each(['', '?sentinelPassword=wrong'])(
    'if Sentinels refuse the password, the error says so and names sentinelPassword, with the URL query %j',
    async (query) => {
      const where = await start(['--requirepass', 'other'], 'other');
      await expect(connect(`redis+sentinel://:pw@${where}${query}`)).rejects.toMatchObject({
        code: 'redis_denied',
        message: expect.stringMatching(/Sentinels refuse the password.*sentinelPassword/),
      });
    },
  );
});
