import { describe, expect, onTestFinished, test } from 'vitest';
import { connectStore } from '../../src/store/connect-store.ts';
import { hasServer, type Server, startServer } from './servers.ts';

async function startOne(options: Parameters<typeof startServer>[0]): Promise<Server> {
  const server = await startServer(options);
  onTestFinished(() => server.stop());
  return server;
}

/** A master that takes `app` and its password, and a Sentinel of it. */
async function start(sentinelArgs: readonly string[], password?: string): Promise<string> {
  const master = await startOne({});
  await master.redis.call('ACL', 'SETUSER', 'app', 'on', '>pw', '~*', '&*', '+@all');
  await master.redis.call('ACL', 'SETUSER', 'default', 'resetpass', '>pw');
  const { port } = await startOne({
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
    { name: 'open, of a master with a password', args: [], login: ':pw', query: '' },
    { name: 'open, of a master with users', args: [], login: 'app:pw', query: '' },
    { name: 'with the password of the master', args: ['--requirepass', 'pw'], login: ':pw', query: '' },
    { name: 'with that of a user of the master', args: ['--requirepass', 'pw'], login: 'app:pw', query: '' },
    {
      name: 'with one of their own',
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
  ])('$name', { timeout: 30_000 }, async ({ args, login, query }) => {
    const [, password] = args;
    const where = await start(args, password);
    await expect(connect(`redis+sentinel://${login}@${where}${query}`)).resolves.toBe('connected');
  });

  test.each(['', '?sentinelPassword=wrong'])('refuse the password, and the error says so: %j', async (query) => {
    const where = await start(['--requirepass', 'other'], 'other');
    await expect(connect(`redis+sentinel://:pw@${where}${query}`)).rejects.toMatchObject({
      code: 'redis_denied',
      message: expect.stringMatching(/Sentinels refuse the password.*sentinelPassword/),
    });
  });
});
