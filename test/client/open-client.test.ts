import { expect, onTestFinished, test } from 'vitest';
import { openClient } from '../../src/api/client/index.ts';
import { provideRedis } from '../../src/host/local-redis/provide-redis.ts';
import { readRedisSource } from '../setup/redis-source.ts';

/** Options of an untyped JavaScript caller. The port is closed. */
function open(options: object): Promise<unknown> {
  return openClient({ redisUrl: 'redis://127.0.0.1:1', ...options });
}

test.each<[string, object]>([
  ['redisUrl', { redisUrl: undefined }],
  ['redisUrl', { redisUrl: 'http://s3cret' }],
  ['redisUrl', { redisUrl: 'redis://:s3cret@127.0.0.1:port' }],
  ['redisTls', { redisTls: 5 }],
  ['redisTls.key', { redisTls: { key: 5 } }],
  ['encodingOf', { encodingOf: 'o200k_base' }],
  ['onError', { onError: 5 }],
  ['queueShard', { queueShard: 4 }],
  ...['shards', 'queueShards'].flatMap((field) =>
    [0, -1, 1.5, Number.NaN, '4', null].map((value): [string, object] => [field, { [field]: value }]),
  ),
])(
  'the error of openClient names the invalid option %s of %j, and does not contain its value',
  async (field, options) => {
    const refused = open(options);
    await expect(refused).rejects.toMatchObject({ name: 'TurnfoldError', code: 'invalid_config', field });
    await expect(refused).rejects.not.toThrow('s3cret');
  },
);

test('openClient refuses an invalid `durability` option with invalid_input', async () => {
  const refused = open({ durability: { replicas: 1 } });
  await expect(refused).rejects.toMatchObject({ code: 'invalid_input', field: 'durability.timeoutMs' });
});

test('a client call that needs an unknown token encoding fails and writes nothing', async () => {
  const redis = await provideRedis(readRedisSource());
  onTestFinished(() => redis.stop());
  const client = await openClient({ redisUrl: redis.url, encodingOf: () => 'foo' as never });
  onTestFinished(() => client.close());
  await expect(client.enqueueTurn({ conversation: 'c1', agent: 'guide', input: 'hello' })).rejects.toMatchObject({
    name: 'TurnfoldError',
    code: 'invalid_config',
    field: 'encodingOf',
  });
  await expect(client.describe('c1')).rejects.toMatchObject({ code: 'not_found' });
});
