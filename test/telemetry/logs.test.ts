import { trace } from '@opentelemetry/api';
import { NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import { describe, expect, test } from 'vitest';
import type { ContentEvent } from '../../src/domain/contents.ts';
import { TurnfoldError } from '../../src/domain/errors.ts';
import type { WorkerEvent } from '../../src/domain/events.ts';
import { createLogger, type LoggerOptions, logContents, logEvents } from '../../src/telemetry/logs.ts';
import { HOSTILE_JSON, HOSTILE_THROWN } from '../fakes/hostile-values.ts';
import { useProvider } from './registered-provider.ts';
import { samples, scope } from './sample-events.ts';

type Line = Record<string, unknown>;
type ContentOf<Type extends ContentEvent['type']> = Extract<ContentEvent, { type: Type }>;

/** One of every type. */
const contents: { readonly [Type in ContentEvent['type']]: ContentOf<Type> } = {
  model_call_started: { type: 'model_call_started', ...scope, system: 'private rules', messages: [] },
  model_answered: { type: 'model_answered', ...scope, content: 'private', toolCalls: [] },
  tool_call_started: { type: 'tool_call_started', ...scope, name: 'look', call: 'c2_0', arguments: '{"at":"private"}' },
  tool_answered: { type: 'tool_answered', ...scope, name: 'look', call: 'c2_0', content: 'private' },
};

function capture(options: Partial<LoggerOptions> = {}) {
  const written: string[] = [];
  const destination = { write: (line: string) => void written.push(line) };
  return { logger: createLogger({ level: 'debug', destination, ...options }), written };
}

function logAll(level: LoggerOptions['level'], ...events: readonly WorkerEvent[]): Line[] {
  const { logger, written } = capture({ level });
  const listener = logEvents(logger);
  for (const event of events) listener(event);
  return written.map((line) => JSON.parse(line) as Line);
}

function logError(options: Partial<LoggerOptions>, error: unknown): Line {
  const { logger, written } = capture(options);
  logEvents(logger)({ type: 'worker_failed', where: 'sweeper', error });
  return (JSON.parse(written.join('')) as Line)['error'] as Line;
}

function parseFailure(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    return error;
  }
}

describe('log catalogue', () => {
  const scoped = Object.values(samples).filter((event) => 'conversation' in event);
  test.each(scoped.map((event) => [event.type, event] as const))(
    'the log line of a %s event has the ids of its conversation, turn and pass',
    (type, event) => {
      const [line] = logAll('debug', event);
      expect(line).toMatchObject({
        event: type,
        tenant: 'acme',
        conversation: 'conv-4711',
        turn: 'turn-4712',
        pass: 'pass-4713',
        msg: expect.stringMatching(/^[a-z]/),
        level: expect.stringMatching(/^(debug|info|warn|error)$/),
        time: expect.any(Number),
      });
    },
  );

  test('a failure outside of conversations is logged without ids', () => {
    const [line] = logAll('info', { type: 'worker_failed', where: 'sweeper', error: undefined });
    expect(Object.keys(line ?? {})).toEqual(['level', 'time', 'pid', 'hostname', 'event', 'where', 'msg']);
  });

  test('the log line of an ended compaction pass contains all figures of the pass', () => {
    const { outcome, code, strategy, reasons, durationMs, version, sequences } = samples.pass_ended;
    const { tokensBefore, tokensAfter, archived } = samples.pass_ended;
    const sizes = { tokensBefore, tokensAfter, archived, sequences };
    const [line] = logAll('debug', samples.pass_ended);
    expect(line).toMatchObject({ outcome, code, strategy, reasons, durationMs, version, ...sizes });
  });

  test('one log line has the sizes under the live policy and under the shadow policy, which is measured and never applied', () => {
    const [line] = logAll('info', samples.pass_shadowed);
    expect(line).toMatchObject({
      liveOutcome: 'committed',
      liveStrategy: 'summarize',
      liveTokensBefore: 30_000,
      liveTokensAfter: 12_000,
      liveSummaries: 5,
      liveEvictedTokens: 0,
      shadowOutcome: 'infeasible',
      shadowStrategy: 'none',
      shadowTokensBefore: 31_000,
      shadowTokensAfter: 31_000,
      shadowSummaries: 2,
      shadowEvictedTokens: 70,
    });
  });

  test('single steps of a turn are logged below level info', () => {
    const levels = logAll('info', ...Object.values(samples)).map((line) => line['event']);
    const passes = ['pass_proposed', 'approval_refused', 'pass_ended', 'pass_shadowed'];
    const before = ['model_passed_over', 'count_ignored', 'pass_taken_over'];
    const shown = [
      'turn_settled',
      'turn_suspended',
      ...before,
      ...passes,
      'summary_ended',
      'version_refused',
      'conversation_expired',
      'lease_lost',
      'database_lost',
      'event_loop_blocked',
      'worker_lost',
      'write_deferred',
      'deferred_write_succeeded',
      'suspect_process_ended',
      'lease_returned',
      'job_reclaimed',
      'redis_nearly_full',
      'model_retires',
      'redis_not_persistent',
      'policy_warned',
      'record_quarantined',
      'inbox_job_taken',
      'webhook_sent',
      'webhook_events_lost',
      'webhook_set_aside',
      'job_dropped',
      'worker_failed',
    ];
    expect(levels).toEqual(shown);
  });

  test('the lost lease of a canceled turn is logged at level info, other lost leases as warnings', () => {
    const lost = samples.lease_lost;
    const lines = logAll('debug', lost, { ...lost, why: 'expired' }, { ...lost, why: 'canceled' });
    expect(lines.map(({ level, why, msg }) => [level, why, msg])).toEqual([
      ['warn', 'fenced', 'lease lost: turn was taken over by another worker, or has ended'],
      [
        'warn',
        'expired',
        'lease lost: turn was not renewed in time, so its lease expired. Another worker may continue it',
      ],
      ['info', 'canceled', 'turn was canceled while it ran'],
    ]);
  });

  test('failed turns, model calls, passes and summaries are logged as warnings', () => {
    const line = { type: 'turn_claimed', ...scope, agent: 'a' } as const;
    const lines = logAll(
      'warn',
      { ...line, attempt: 1 },
      { ...line, attempt: 2 },
      { ...samples.turn_settled, outcome: 'completed' },
      samples.turn_settled,
      { ...samples.model_called, outcome: 'timeout' },
      { ...samples.model_called, outcome: 'lost' },
      { ...samples.pass_ended, outcome: 'infeasible' },
      { ...samples.summary_ended, outcome: 'refused' },
      { ...samples.summary_ended, written: { by: 'small', isFallback: false } },
      samples.summary_ended,
    );
    expect(lines.map(({ event, outcome, attempt, level }) => [event, outcome ?? attempt, level])).toEqual([
      ['turn_claimed', 2, 'warn'],
      ['turn_settled', undefined, 'warn'],
      ['model_called', 'timeout', 'warn'],
      ['pass_ended', 'infeasible', 'warn'],
      ['summary_ended', 'refused', 'warn'],
      ['summary_ended', 'written', 'warn'],
    ]);
    expect(lines.at(-1)).toMatchObject({ by: 'structural', isFallback: true, why: 'small: cut off' });
  });

  test('a logger of level silent logs no event', () => {
    expect(logAll('silent', ...Object.values(samples))).toEqual([]);
  });
});

describe('errors in logs', () => {
  test('an error with a turnfold code is logged with code, message, details and cause', () => {
    const cause = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:6379'), { code: 'ECONNREFUSED' });
    const error = new TurnfoldError('redis_unavailable', 'Redis does not answer', { details: { tries: 3 }, cause });
    const line = logError({}, error);
    expect(line).toEqual({
      code: 'redis_unavailable',
      message: 'Redis does not answer',
      details: { tries: 3 },
      cause: { name: 'Error', code: 'ECONNREFUSED', at: expect.stringContaining('logs.test.ts') },
    });
  });

  test('the message of an error without a turnfold code is logged only if the operator allows contents in logs', () => {
    const error = parseFailure('my private text');
    expect((error as Error).message).toContain('private'); // the trap is there
    for (const level of ['debug', 'info'] as const) {
      const line = logError({ level }, error);
      expect(JSON.stringify(line)).not.toContain('private');
      expect(line).toEqual({ name: 'SyntaxError', at: expect.stringContaining('JSON.parse') });
    }
    expect(logError({ level: 'info', showsContent: true }, error)).toMatchObject({
      message: expect.stringContaining('private'),
      stack: expect.stringContaining('logs.test.ts'),
    });
  });

  test('an error is logged with its first stack frame even if its message looks like a stack', () => {
    const error = new Error('oops\n    at private text');
    const place = expect.stringContaining('logs.test.ts');
    expect(logError({}, error)).toEqual({ name: 'Error', at: place });
    error.message = 'changed later';
    expect(logError({}, error)).toEqual({ name: 'Error' });
  });

  test('an error reply of Redis is logged with its first word as the code', () => {
    const error = Object.assign(new Error("READONLY You can't write against a read only replica."), {
      name: 'ReplyError',
    });
    expect(logError({}, error)).toMatchObject({ name: 'ReplyError', code: 'READONLY' });
  });

  test('a thrown value that is no error is logged by its type alone', () => {
    expect(logError({}, 'my private text')).toEqual({ name: 'string' });
    expect(logError({}, null)).toEqual({ name: 'object' });
  });

  test.each(HOSTILE_THROWN.filter(([name]) => name !== 'undefined'))(
    'a thrown value that is %s is logged in one line of bounded size',
    (_, make) => {
      for (const showsContent of [false, true]) {
        const logged = logError({ showsContent }, make());
        expect(logged).toMatchObject({ name: expect.any(String) });
        expect(JSON.stringify(logged).length).toBeLessThan(100_000);
      }
    },
  );

  test.each(HOSTILE_JSON)('an error with a turnfold code is logged without details that are %s', (_, make) => {
    const error = new TurnfoldError('conflict', 'no', { details: { odd: make() } });
    expect(logError({}, error)).toEqual({ code: 'conflict', message: 'no' });
  });

  test('an error that is its own cause is logged with three causes', () => {
    const error = new Error('one');
    error.cause = error;
    expect(JSON.stringify(logError({}, error)).match(/"name":"Error"/g)).toHaveLength(4);
  });
});

describe('redaction of secrets', () => {
  test.each([
    'apiKey',
    'api_key',
    'x-api-key',
    'authorization',
    'Authorization',
    'cookie',
    'password',
    'secret',
    'accessToken',
  ])('the value of the key %s is redacted at the top of a log line and two levels below', (key) => {
    const { logger, written } = capture();
    logger.info(
      { [key]: 's3cr3t', provider: { [key]: 's3cr3t', headers: { [key]: 's3cr3t' } }, kept: 'seen' },
      'start',
    );
    expect(written.join('')).not.toContain('s3cr3t');
    expect(JSON.parse(written[0] ?? '')).toMatchObject({
      [key]: '[redacted]',
      provider: { [key]: '[redacted]', headers: { [key]: '[redacted]' } },
      kept: 'seen',
    });
  });

  test.each([
    ['redis://user:s3cr3t@host:6379/0', 'redis://[redacted]@host:6379/0'],
    ['rediss://:s3cr3t@host', 'rediss://[redacted]@host'],
    ['https://user:s3cr@t@host/path?a=b', 'https://[redacted]@host/path?a=b'],
    ['redis://host:6379', 'redis://host:6379'],
  ])('credentials of the address %s are redacted in any field of a log line', (url, shown) => {
    for (const isPretty of [false, true]) {
      const { logger, written } = capture({ isPretty });
      logger.info({ url, deep: { list: [url] } }, `connects to ${url}`);
      expect(written.join('')).not.toContain('s3cr');
      expect(written.join('').split(shown)).toHaveLength(4);
    }
  });

  test.each([
    ['a key of Anthropic', 'sk-ant-api03-0123456789abcdefghij'],
    ['a token of GitHub', 'ghp_0123456789abcdefghijABCDEFGHIJ'],
    ['a key of AWS', 'AKIA0123456789ABCDEF'],
    ['a token of an access key', 'tfk_0123456789abcdef_0123456789abcdefghijABCDEFGHIJ-_0123456789-'],
    ['a secret of a webhook', 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
    ['a JSON Web Token', 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTYifQ.c2lnbmF0dXJl'],
  ])('the log redacts %s by its form in any text', (_, secret) => {
    const { logger, written } = capture({ showsContent: true });
    logContents(logger)({ ...contents.tool_answered, content: `found ${secret}, in "${secret}"` });
    expect(written.join('')).not.toContain(secret);
    expect(JSON.parse(written.join(''))).toMatchObject({ content: 'found [redacted], in "[redacted]"' });
  });

  test.each([
    ['{"user":"bob","password":"hunter2!","id":7}', '{"user":"bob","password":"[redacted]","id":7}'],
    ['{"api_key": "abc-def", "secret": null}', '{"api_key": "[redacted]", "secret": null}'],
    ['password: hunter2!\nuser: bob', 'password: [redacted]\nuser: bob'],
    ['OPENAI_API_KEY=abc-def PATH=/bin', 'OPENAI_API_KEY=[redacted] PATH=/bin'],
    ['Authorization: Bearer abc.def', 'Authorization: Bearer [redacted]'],
    ['authorization: Basic Ym9iOmh1bnRlcjI=', 'authorization: Basic [redacted]'],
    ['ask for the password, it is a secret', 'ask for the password, it is a secret'],
  ])('the log redacts a secret by the name before it: %s', (said, shown) => {
    const { logger, written } = capture({ showsContent: true });
    const messages = [{ role: 'user' as const, content: said }];
    logContents(logger)({ ...contents.model_call_started, system: said, messages });
    expect(JSON.parse(written.join(''))).toMatchObject({ system: shown, messages: [{ content: shown }] });
  });

  test('secrets of the process are redacted in any form, also as JSON writes them', () => {
    const secret = 'plain "word"';
    const { logger, written } = capture({ showsContent: true, secrets: [secret, 'short'] });
    logger.info({ said: `it is ${secret}` }, `not ${secret}; short stays`);
    expect(written.join('')).not.toContain('plain');
    expect(JSON.parse(written.join(''))).toMatchObject({
      said: 'it is [redacted]',
      msg: 'not [redacted]; short stays',
    });
  });

  test('a log line with redacted values is still valid JSON', () => {
    const { logger, written } = capture();
    logger.info(
      { deep: { er: { password: true, secret: 12, cookie: null, token: ['a'] } }, apiKey: 'abcdef' },
      'start',
    );
    expect(JSON.parse(written.join(''))).toMatchObject({ apiKey: '[redacted]', msg: 'start' });
  });

  test('an error that is passed to the logger directly is logged without a message that could quote contents', () => {
    const { logger, written } = capture({ level: 'info' });
    logger.error({ err: parseFailure('my private text') }, 'start failed');
    expect(written.join('')).not.toContain('private');
  });
});

describe('logged contents', () => {
  test.each(Object.values(contents).map((event) => [event.type, event] as const))(
    'the content log line of a %s event has message contents, and the ids of its conversation and turn',
    (_, event) => {
      const { logger, written } = capture({ level: 'info', showsContent: true });
      logContents(logger)(event);
      expect(JSON.parse(written.join(''))).toMatchObject({
        event: event.type,
        conversation: 'conv-4711',
        turn: 'turn-4712',
        level: 'info',
      });
      expect(written.join('')).toContain('private');
    },
  );

  test.each(Object.values(samples).map((event) => [event.type, event] as const))(
    'the log line of a %s event contains no message texts at any log level',
    (_, event) => {
      const error = new Error('my private text', { cause: new Error('private too') });
      const said = { content: 'private', messages: ['private'], arguments: 'private' };
      const lines = logAll('debug', Object.assign(said, event, 'error' in event && { error }));
      expect(lines).toHaveLength(1);
      expect(JSON.stringify(lines)).not.toContain('private');
    },
  );
});

describe('lines within a span', () => {
  const spans = new NodeTracerProvider();
  useProvider(spans);

  test('a log line within a span carries the ids of the span', () => {
    const { logger, written } = capture();
    const ids = trace.getTracer('service').startActiveSpan('work', (span) => {
      logEvents(logger)(samples.turn_settled);
      span.end();
      return span.spanContext();
    });
    logEvents(logger)(samples.turn_settled);
    const [within = '', outside = ''] = written;
    expect(JSON.parse(within)).toMatchObject({ trace_id: ids.traceId, span_id: ids.spanId });
    expect(JSON.parse(outside)).not.toHaveProperty('trace_id');
  });
});

describe('lines for a terminal', () => {
  test('a log line for a terminal has time, level, message and fields', () => {
    const { logger, written } = capture({ isPretty: true });
    logEvents(logger)(samples.turn_settled);
    expect(written).toEqual([
      expect.stringMatching(
        /^\d\d:\d\d:\d\d\.\d{3} WARN {2}turn failed tenant=acme conversation=conv-4711 turn=turn-4712 pass=pass-4713 code=step_limit leaves=refused durationMs=2500\n$/,
      ),
    ]);
  });

  test('log lines escape control characters, and JSON lines keep their values', () => {
    const said = '\u001b[2J\u009b2J\u202e\u007f';
    for (const isPretty of [true, false]) {
      const { logger, written } = capture({ isPretty });
      logger.info({ said, [said]: 1 }, said);
      expect(written.join('')).not.toMatch(/(?!\n)\p{Cc}|\u202e/u);
      if (!isPretty) expect(JSON.parse(written.join(''))).toMatchObject({ said, msg: said, [said]: 1 });
    }
  });

  test('a log line for a terminal quotes values with spaces or control characters', () => {
    const { logger, written } = capture({ isPretty: true });
    logger.info({ where: 'a b', odd: '\u001b[2J\u009b2J\n' }, 'text');
    expect(written.join('')).toContain(' where="a b" odd="\\u001b[2J\\u009b2J\\n"\n');
  });
});
