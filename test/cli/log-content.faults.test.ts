import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { LocalRedis } from '../../src/host/local-redis/local-redis.ts';
import { provideRedis } from '../../src/host/local-redis/provide-redis.ts';
import { readRedisSource } from '../setup/redis-source.ts';
import { runTurnfold } from './run-turnfold.ts';
import { type LogLine, startWorkerProcess } from './worker-process.ts';

const KEY = 'local-key-of-no-known-form';

let redis: LocalRedis;
beforeAll(async () => {
  redis = await provideRedis(readRedisSource());
});
afterAll(() => redis.stop());

/** Log of a worker at level `debug` over one turn, in which the user pastes the worker's API key. */
async function logTurn(conversation: string, env: Readonly<Record<string, string>>): Promise<readonly LogLine[]> {
  const shared = { REDIS_URL: redis.url, ...env };
  const worker = startWorkerProcess({ ...shared, TURNFOLD_LOG_LEVEL: 'debug', OPENAI_API_KEY: KEY });
  const input = `my private words, and ${KEY}`;
  const args = ['enqueue', conversation, input, '--agent', 'workspace', '--wait', '20'];
  expect(await runTurnfold(args, { env: shared })).toMatchObject({ code: 0 });
  expect(await worker.stop()).toBe(0);
  expect(JSON.stringify(worker.lines)).not.toContain(KEY);
  return worker.lines;
}

describe('message contents in the log of a worker', () => {
  test('a worker logs no message contents at any level by default', async () => {
    const lines = await logTurn('l1', {});
    expect(lines.map(({ event }) => event)).toEqual(expect.arrayContaining(['turn_claimed', 'model_called']));
    expect(JSON.stringify(lines)).not.toContain('private');
  });

  test('a worker with LOG_CONTENT logs message contents with its API keys redacted', async () => {
    const lines = await logTurn('l2', { LOG_CONTENT: 'true' });
    const started = lines.find(({ event }) => event === 'model_call_started');
    expect(started).toMatchObject({ conversation: 'l2', messages: [{ content: 'my private words, and [redacted]' }] });
    expect(lines.find(({ event }) => event === 'model_answered')).toMatchObject({ content: expect.any(String) });
  });
});
