import { describe, expect, test } from 'vitest';
import { TurnfoldError } from '../../src/domain/errors.ts';
import { dropDebugger, readConfig } from '../../src/host/config.ts';

function refusalOf(env: Record<string, string>): TurnfoldError {
  try {
    readConfig(env);
  } catch (error) {
    if (error instanceof TurnfoldError) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

describe('readConfig with an empty environment', () => {
  const defaults = {
    redisUrl: undefined,
    redisTls: undefined,
    prefix: 'tf',
    shards: 256,
    queueShards: 1,
    concurrency: { turn: 50, compaction: 10, summarization: 10 },
    inbox: false,
    metrics: { host: '127.0.0.1', port: 9464, allowedHosts: [] },
    shutdownMs: 10_000,
    stuckMs: 60_000,
    missingAgentMs: 600_000,
    providerWaitMs: 86_400_000,
    blockedMs: 60_000,
    grafanaUrl: undefined,
    durability: undefined,
    logLevel: 'info',
    logsContent: false,
    tracesContent: false,
    webhooks: { allowPrivate: false },
  };

  test('readConfig returns the defaults for an empty environment', () => {
    expect(readConfig({})).toStrictEqual(defaults);
  });

  test('readConfig treats blank variables as unset, because compose files write them', () => {
    expect(readConfig({ REDIS_URL: '', TURNFOLD_SHARDS: ' ', TURNFOLD_LOG_LEVEL: '' })).toStrictEqual(defaults);
  });
});

test('readConfig reads every variable', () => {
  const env = {
    REDIS_URL: 'rediss://user:pass@redis.example:6380/2',
    TURNFOLD_URL: 'https://turns.example/api',
    TURNFOLD_KEY: 'tfk_1',
    TURNFOLD_PREFIX: 'shop',
    TURNFOLD_SHARDS: '16',
    TURNFOLD_QUEUE_SHARDS: '4',
    TURNFOLD_TURN_CONCURRENCY: '1',
    TURNFOLD_COMPACTION_CONCURRENCY: '2',
    TURNFOLD_SUMMARIZATION_CONCURRENCY: '3',
    TURNFOLD_METRICS_HOST: '0.0.0.0',
    TURNFOLD_METRICS_ALLOWED_HOSTS: 'worker.internal, *.example.com',
    TURNFOLD_METRICS_PORT: '0',
    TURNFOLD_SHUTDOWN_MS: '500',
    TURNFOLD_INBOX: 'true',
    TURNFOLD_STUCK_MS: '5000',
    TURNFOLD_MISSING_AGENT_MS: '6000',
    TURNFOLD_PROVIDER_WAIT_MS: '7000',
    TURNFOLD_BLOCKED_MS: '8000',
    TURNFOLD_GRAFANA_URL: 'https://grafana.example/d/turnfold',
    TURNFOLD_WEBHOOK_ALLOW_PRIVATE: 'true',
    TURNFOLD_DURABLE_REPLICAS: '2',
    TURNFOLD_DURABLE_TIMEOUT_MS: '300',
    TURNFOLD_DURABLE_FSYNC: 'replica',
    TURNFOLD_LOG_LEVEL: 'silent',
    LOG_CONTENT: 'true',
    TURNFOLD_TRACE_CONTENT: 'true',
  };
  expect(readConfig(env)).toStrictEqual({
    redisUrl: env.REDIS_URL,
    redisTls: undefined,
    prefix: 'shop',
    shards: 16,
    queueShards: 4,
    concurrency: { turn: 1, compaction: 2, summarization: 3 },
    inbox: true,
    metrics: { host: '0.0.0.0', port: 0, allowedHosts: ['worker.internal', '*.example.com'] },
    shutdownMs: 500,
    stuckMs: 5_000,
    missingAgentMs: 6_000,
    providerWaitMs: 7_000,
    blockedMs: 8_000,
    grafanaUrl: env.TURNFOLD_GRAFANA_URL,
    durability: { replicas: 2, timeoutMs: 300, fsync: 'replica' },
    logLevel: 'silent',
    logsContent: true,
    tracesContent: true,
    webhooks: { allowPrivate: true },
  });
});

describe('readConfig with an invalid value', () => {
  test.each([
    ['REDIS_URL', 'http://s3cret.example'],
    ['REDIS_URL', 's3cret'],
    ['REDIS_URL', 'redis://:s3cret@127.0.0.1:port'],
    ['REDIS_URL', 'redis://'],
    ['REDIS_URL', 'redis://s3cret.example/one'],
    ['REDIS_URL', 'redis+sentinel://:s3cret@one:26379,two'],
    ['REDIS_URL', 'redis+sentinel://one:port,s3cret/main'],
    ['REDIS_URL', 'redis+cluster://:s3cret@one,two/1'],
    ['TURNFOLD_DURABLE_REPLICAS', '-1'],
    ['TURNFOLD_DURABLE_TIMEOUT_MS', '0'],
    ['TURNFOLD_DURABLE_FSYNC', 's3cret'],
    ['TURNFOLD_SHARDS', '0'],
    ['TURNFOLD_SHARDS', '4097'],
    ['TURNFOLD_SHARDS', '2.5'],
    ['TURNFOLD_QUEUE_SHARDS', '65'],
    ['TURNFOLD_TURN_CONCURRENCY', 's3cret'],
    ['TURNFOLD_COMPACTION_CONCURRENCY', '-1'],
    ['TURNFOLD_SUMMARIZATION_CONCURRENCY', '1001'],
    ['TURNFOLD_METRICS_PORT', '65536'],
    ['TURNFOLD_METRICS_PORT', 's3cret'],
    ['TURNFOLD_SHUTDOWN_MS', '0'],
    ['TURNFOLD_SHUTDOWN_MS', 'Infinity'],
    ['TURNFOLD_STUCK_MS', '999'],
    ['TURNFOLD_LOG_LEVEL', 's3cret'],
    ['TURNFOLD_GRAFANA_URL', 'ftp://s3cret.example'],
    ['TURNFOLD_GRAFANA_URL', 'https://viewer:s3cret@grafana.example/d/turnfold'],
    ['TURNFOLD_GRAFANA_URL', 'https://s3cret@grafana.example'],
  ])('readConfig refuses %s=%s with the name of the variable and without its value', (name, value) => {
    const refusal = refusalOf({ [name]: value });
    expect(refusal).toMatchObject({ code: 'invalid_config', field: name });
    expect(refusal.message).toMatch(new RegExp(`^${name}: must be `));
    expect(JSON.stringify(refusal)).not.toContain('s3cret');
  });
  test('readConfig refuses TURNFOLD_DURABLE_FSYNC=replica if no replica must confirm writes', () => {
    const refusal = refusalOf({ TURNFOLD_DURABLE_FSYNC: 'replica' });
    expect(refusal).toMatchObject({ code: 'invalid_config', field: 'TURNFOLD_DURABLE_REPLICAS' });
  });
});

test.each([
  [['--import', './tracing.js', '--max-old-space-size=512']],
  [['--inspect', '--import', './tracing.js', '--max-old-space-size=512']],
  [['--import', './tracing.js', '--inspect-brk=127.0.0.1:9229', '--max-old-space-size=512']],
  [['--import', './tracing.js', '--inspect-port', '0', '--max-old-space-size=512', '--inspect-wait']],
  [['--import', './tracing.js', '--max-old-space-size=512', '--debug-port=9230']],
])('a child process of a worker gets the Node options of the worker, without debugger options: %j', (options) => {
  expect(dropDebugger(options)).toEqual(['--import', './tracing.js', '--max-old-space-size=512']);
});
