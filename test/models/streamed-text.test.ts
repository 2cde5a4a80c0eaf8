import { describe, expect, it } from 'vitest';
import type { Message } from '../../src/domain/message.ts';
import { ModelError } from '../../src/domain/model.ts';
import { WIRE_FORMATS } from '../../src/domain/raw-items.ts';
import { streamEvents } from '../../src/providers/answer-stream.ts';
import { startProvider } from '../provider/provider.ts';
import { ask, connect } from './fixture.ts';
import { failureOf, serveRaw } from './raw-server.ts';

const user: Message = { role: 'user', content: 'Which files?' };
const text = 'A sentence in several pieces, as a model says it.';

describe.each(WIRE_FORMATS)('%s', (format) => {
  it(`a ${format} model streams the text of its answer in pieces, without its thinking and tool arguments`, async () => {
    const calls = [{ name: 'read', arguments: { path: 'secret' } }];
    await using provider = await startProvider({ answers: [{ thinking: 'Hm, hidden.', text, calls }] });
    const told: string[] = [];
    const onText = (piece: string): void => void told.push(piece);
    const { content } = await connect(format, provider).generate(ask([user], { onText }));
    expect(content).toBe(text);
    expect(told.length).toBeGreaterThan(2);
    expect(told.join('')).toBe(text);
    expect(told).not.toContain('');
  });

  it(`a ${format} model streams several texts exactly as they are joined in its answer`, async () => {
    const parts = [{ text: 'One.' }, { call: { name: 'read', arguments: {} } }, { text: 'Two.' }];
    await using provider = await startProvider({ answers: [{ parts }] });
    let told = '';
    const onText = (piece: string): void => void (told += piece);
    const { content } = await connect(format, provider).generate(ask([user], { onText }));
    expect(told).toBe(content);
    expect(told).toMatch(/^One\..*Two\.$/s);
  });

  it(`a ${format} model streams the text of its refusal`, async () => {
    await using provider = await startProvider({ answers: [{ text: 'I cannot do that.', end: 'refusal' }] });
    let told = '';
    const onText = (piece: string): void => void (told += piece);
    const { content } = await connect(format, provider).generate(ask([user], { onText }));
    expect(told).toBe('I cannot do that.');
    expect(content).toBe(told);
  });

  it.each<[string, () => void]>([
    [
      'throws',
      () => {
        throw new Error('the listener’s own');
      },
    ],
    ['rejects', () => Promise.reject(new Error('the listener’s own'))],
  ])(`a ${format} model continues its answer if the text listener %s`, async (_, fail) => {
    await using provider = await startProvider({ answers: [{ text }] });
    let pieces = 0;
    const onText = (): void => {
      pieces += 1;
      return fail();
    };
    expect(await connect(format, provider).generate(ask([user], { onText }))).toMatchObject({ content: text });
    expect(pieces).toBeGreaterThan(2);
  });

  it(`a ${format} model streams the text that arrives before its stream ends too early`, async () => {
    const fault = { fault: 'cut', answer: { text }, afterEvents: 5 } as const;
    await using provider = await startProvider({ answers: [fault] });
    let told = '';
    const onText = (piece: string): void => void (told += piece);
    const error = await failureOf(connect(format, provider).generate(ask([user], { onText })));
    expect(error.kind).toBe('retry');
    expect(told).not.toBe('');
    expect(text.startsWith(told)).toBe(true);
  });
});

it.each(['openai-chat', 'openai-responses'] as const)(
  'a %s stream may have events without contents',
  async (format) => {
    const response = {
      output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'So.' }] }],
    };
    const said = { id: 'c', choices: [{ index: 0, delta: { content: 'So.' }, finish_reason: 'stop' }] };
    const body = ['null', {}, format === 'openai-chat' ? said : { type: 'response.completed', response }];
    await using server = await serveRaw({ body });
    expect(await connect(format, server).generate(ask([user]))).toMatchObject({ content: 'So.' });
  },
);

describe('a stream that fails', () => {
  const coded = new ModelError('retry', 'the answer did not arrive completely');
  const { signal } = new AbortController();

  async function* breakOff(): AsyncGenerator<number> {
    yield await Promise.resolve(1);
    throw new TypeError('terminated');
  }

  it('a provider’s stream throws a ModelError if the provider or the network fails', async () => {
    const read: number[] = [];
    const reading = (async () => {
      for await (const event of streamEvents(
        async () => breakOff(),
        { signal: signal },
        () => coded,
      ))
        read.push(event);
    })();
    await expect(reading).rejects.toBe(coded);
    expect(read).toEqual([1]);
  });

  it('a provider’s stream throws the original error if the code that reads it has a bug', async () => {
    const bug = new TypeError('x is not a function');
    const reading = (async () => {
      for await (const _ of streamEvents(
        async () => breakOff(),
        { signal: signal },
        () => coded,
      ))
        throw bug;
    })();
    await expect(reading).rejects.toBe(bug);
  });

  it('a provider’s stream throws the reason of its aborted signal, even if the stream ends as if it were complete', async () => {
    const stop = new AbortController();
    async function* endQuietly(): AsyncGenerator<number> {
      yield await Promise.resolve(1);
    }
    const reading = (async () => {
      for await (const _ of streamEvents(
        async () => endQuietly(),
        { signal: stop.signal },
        () => coded,
      ))
        stop.abort(new Error('the lease is lost'));
    })();
    await expect(reading).rejects.toThrow('the lease is lost');
  });
});
