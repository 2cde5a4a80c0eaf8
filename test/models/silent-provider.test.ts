import { createRequire } from 'node:module';
import { Agent, fetch } from 'undici';
import { expect, it } from 'vitest';
import { WIRE_FORMATS, type WireFormat } from '../../src/domain/raw-items.ts';
import { startProvider } from '../provider/provider.ts';
import { ask, connect } from './fixture.ts';
import { failureOf, serveRaw } from './raw-server.ts';

/** undici's internal clock for long timeouts. undici's own tests replace this clock too. */
const clock = createRequire(import.meta.url)('undici/lib/util/timers.js') as { readonly tick: (ms: number) => void };

/**
 * Advances undici's clock by more than its default timeouts and Node's. A timer starts at the first tick after its
 * creation.
 */
function passSilence(): void {
  clock.tick(0);
  clock.tick(301_000);
}

const user = { role: 'user', content: 'Hi' } as const;

/** The first events of a stream, followed by its last event. */
const STREAMS: Readonly<Record<WireFormat, readonly object[]>> = {
  anthropic: [
    {
      type: 'message_start',
      message: {
        id: 'm',
        role: 'assistant',
        content: [],
        stop_reason: null,
        usage: { input_tokens: 1, output_tokens: 1 },
      },
    },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'So.' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } },
    { type: 'message_stop' },
  ],
  'openai-chat': [
    { id: 'c', choices: [{ index: 0, delta: { content: 'So.' } }] },
    { id: 'c', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
  ],
  'openai-responses': [
    { type: 'response.output_text.delta', output_index: 0, delta: 'So.' },
    {
      type: 'response.completed',
      response: { output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'So.' }] }] },
    },
  ],
};

it('undici’s default agent closes a connection after five simulated minutes without data', async () => {
  const end = Promise.withResolvers<void>();
  await using server = await serveRaw({ body: STREAMS['openai-chat'], until: end.promise });
  const { body } = await fetch(server.url, { dispatcher: new Agent() });
  const reader = body?.getReader();
  await reader?.read();
  const next = reader?.read();
  passSilence();
  await expect(next).rejects.toThrow('terminated');
  end.resolve();
});

it.each(WIRE_FORMATS)(
  'a %s model call survives five minutes without data in the middle of an answer',
  async (format) => {
    const end = Promise.withResolvers<void>();
    await using server = await serveRaw({ body: STREAMS[format], until: end.promise });
    const begun = Promise.withResolvers<void>();
    const answer = connect(format, server).generate(ask([user], { onText: () => begun.resolve() }));
    await begun.promise;
    passSilence();
    end.resolve();
    expect(await answer).toMatchObject({ content: 'So.' });
  },
);

it.each(['anthropic', 'openai-responses'] as const)(
  'a %s call of model.compact survives five minutes without data before the first byte',
  async (format) => {
    const end = Promise.withResolvers<void>();
    const reply = () => end.promise.then(() => ({ parts: [{ compaction: 'All.' }] }));
    await using provider = await startProvider({ answers: [reply] });
    const compacted = connect(format, provider).compact?.(ask([user]));
    await expect.poll(() => provider.requests.length).toBe(1);
    passSilence();
    end.resolve();
    expect(await compacted).toMatchObject({ raw: { format } });
  },
);

it('a model call that receives no data throws as soon as its signal aborts', async () => {
  await using server = await serveRaw({ body: STREAMS.anthropic, until: new Promise(() => {}) });
  const stop = new AbortController();
  const onText = (): void => stop.abort(new Error('the lease is lost'));
  const answered = connect('anthropic', server).generate(ask([user], { signal: stop.signal, onText }));
  expect(await failureOf(answered)).toMatchObject({ message: 'the lease is lost' });
});
