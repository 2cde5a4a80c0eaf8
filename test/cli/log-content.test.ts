import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { LocalRedis } from '../../src/local-redis/local-redis.ts';
import { provideRedis } from '../../src/local-redis/provide-redis.ts';
import { readRedisSource } from '../setup/redis-source.ts';
import { endOf, readJsonLines, runTurnfold, startTurnfold } from './run-turnfold.ts';

const AGENTS = fileURLToPath(new URL('../setup/workspace-agents.ts', import.meta.url));
const KEY = 'local-key-of-no-known-form';

let redis: LocalRedis;
beforeAll(async () => {
  redis = await provideRedis(readRedisSource());
});
afterAll(() => redis.stop());

/** All that a worker at `debug` writes from its start, over one turn whose user pastes the worker's own key, to its end. */
async function logTurn(
  conversation: string,
  env: Readonly<Record<string, string>>,
): Promise<Record<string, unknown>[]> {
  const shared = { REDIS_URL: redis.url, ...env };
  const worker = startTurnfold(['worker', '--agents', AGENTS], {
    ...shared,
    TURNFOLD_LOG_LEVEL: 'debug',
    OPENAI_API_KEY: KEY,
  });
  const ended = endOf(worker);
  const input = `my private words, and ${KEY}`;
  const args = ['enqueue', conversation, input, '--agent', 'workspace', '--wait', '20'];
  expect(await runTurnfold(args, { env: shared })).toMatchObject({ code: 0 });
  worker.kill('SIGTERM');
  const { code, stdout } = await ended;
  expect(code).toBe(0);
  expect(stdout).not.toContain(KEY);
  return readJsonLines(stdout);
}

describe('logs the texts of a turn', () => {
  test('is logged at no level, unless asked for', async () => {
    const lines = await logTurn('l1', {});
    expect(lines.map(({ event }) => event)).toEqual(expect.arrayContaining(['turn_claimed', 'model_called']));
    expect(JSON.stringify(lines)).not.toContain('private');
  });

  test('is logged with LOG_CONTENT, without the secrets in it', async () => {
    const lines = await logTurn('l2', { LOG_CONTENT: 'true' });
    const asked = lines.find(({ event }) => event === 'model_asked');
    expect(asked).toMatchObject({ conversation: 'l2', messages: [{ content: 'my private words, and [redacted]' }] });
    expect(lines.find(({ event }) => event === 'model_answered')).toMatchObject({ content: expect.any(String) });
  });
});
