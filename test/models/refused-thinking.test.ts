import { describe, expect, it } from 'vitest';
import type { Message } from '../../src/domain/message.ts';
import type { ModelAnswer } from '../../src/domain/model.ts';
import type { WireFormat } from '../../src/domain/raw-items.ts';
import { modelChain } from '../../src/providers/chain.ts';
import { startProvider } from '../provider/provider.ts';
import { ask, connect } from './fixture.ts';
import { failureOf, serveRaw } from './raw-server.ts';

const user: Message = { role: 'user', content: 'Which files?' };
const THINKS = { thinking: 'Hm.', calls: [{ name: 'read', arguments: { path: 'a' } }] } as const;
const SENT_THINKING = /"thinking":"Hm|"type":"reasoning"/;

/** Returns a history whose thinking signatures the provider refuses, because its key has changed. */
function goOn({ content, toolCalls, raw }: ModelAnswer): Message[] {
  const spoilt = JSON.stringify(raw).replaceAll(/("signature"|"encrypted_content"):"[^"]*"/g, '$1:"Eqspoilt"');
  return [
    user,
    { role: 'assistant', content, toolCalls: [...toolCalls], raw: JSON.parse(spoilt) as unknown },
    { role: 'tool', content: 'A', toolCallId: toolCalls[0]?.id ?? '' },
  ];
}

const REFUSALS: readonly (readonly [WireFormat, string, number, object])[] = [
  [
    'anthropic',
    'the signature',
    400,
    { type: 'invalid_request_error', message: 'messages.1.content.0: Invalid `signature` in `thinking` block' },
  ],
  [
    'anthropic',
    'a changed block',
    400,
    {
      type: 'invalid_request_error',
      message:
        'messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.',
    },
  ],
  [
    'openai-responses',
    'the signature',
    400,
    {
      type: 'invalid_request_error',
      code: 'invalid_encrypted_content',
      message: 'The encrypted content gAAA could not be verified.',
    },
  ],
  [
    'openai-responses',
    'an unknown item id',
    404,
    {
      type: 'invalid_request_error',
      code: null,
      message: "Item with id 'rs_68' not found. Items are not persisted when `store` is set to false.",
    },
  ],
];

describe.each(['anthropic', 'openai-responses'] as const)('%s', (format) => {
  const closed: readonly Message[] = [
    { role: 'assistant', content: 'One.' },
    { role: 'user', content: 'Sure?' },
  ];
  it.each<[number | undefined, string, readonly Message[]]>([
    [0, 'inside the tool loop', []],
    [0, 'after the tool loop', closed],
    [3, 'after the tool loop', closed],
    [undefined, 'after the tool loop', closed],
  ])(
    `a ${format} model answers a second request without thinking after its provider refuses the thinking of version %s %s`,
    async (version, _where, rest) => {
      await using provider = await startProvider({ answers: [THINKS, { text: 'Done.' }] });
      const model = connect(format, provider);
      const { version: _, ...unversioned } = ask([user]);
      const request = { ...unversioned, ...(version === undefined ? {} : { version }) };
      const messages = [...goOn(await model.generate(request)), ...rest];
      expect((await model.generate({ ...request, messages })).content).toBe('Done.');
      const [, refused, mended] = provider.requests;
      expect(refused?.refusal?.rule).toBe(format === 'openai-responses' ? 'R6' : rest === closed ? 'A8' : 'A7');
      expect(JSON.stringify(refused?.body)).toMatch(SENT_THINKING);
      expect(mended?.refusal).toBeUndefined();
      expect(JSON.stringify(mended?.body)).not.toMatch(SENT_THINKING);
      expect(mended?.headers['idempotency-key']).not.toBe(refused?.headers['idempotency-key']);
      expect(provider.requests).toHaveLength(3);
    },
  );

  it(`a ${format} model answers several steps in a row although its provider refuses its earlier thinking`, async () => {
    const answers = [THINKS, THINKS, { text: 'Done.' }];
    await using provider = await startProvider({ answers });
    const model = connect(format, provider);
    const history = goOn(await model.generate(ask([user])));
    const { content, toolCalls, raw } = await model.generate(ask(history));
    history.push({ role: 'assistant', content, toolCalls: [...toolCalls], raw });
    history.push({ role: 'tool', content: 'B', toolCallId: toolCalls[0]?.id ?? '' });
    expect((await model.generate(ask(history))).content).toBe('Done.');
  });

  it(`a ${format} model can still compact although its provider refuses its earlier thinking`, async () => {
    await using provider = await startProvider({ answers: [THINKS, { parts: [{ compaction: 'All.' }] }] });
    const model = connect(format, provider);
    const messages = goOn(await model.generate(ask([user])));
    expect(await model.compact?.(ask(messages))).toMatchObject({ raw: { format } });
  });

  it(`a model chain calls no other model if the ${format} model answers a second request without its refused thinking`, async () => {
    await using provider = await startProvider({ answers: [THINKS, { text: 'Done.' }] });
    const model = connect(format, provider);
    const chain = modelChain([model, model]);
    const messages = goOn(await model.generate(ask([user])));
    expect((await chain.generate(ask(messages))).content).toBe('Done.');
    expect(provider.requests).toHaveLength(3);
  });
});

it.each(REFUSALS)(
  'after the provider refuses a %s request for %s, the model sends the request once more without thinking, and never a third time',
  async (format, _what, status, error) => {
    await using provider = await startProvider({ answers: [THINKS] });
    const messages = goOn(await connect(format, provider).generate(ask([user])));
    await using server = await serveRaw({ status, body: { type: 'error', error } });
    expect(await failureOf(connect(format, server).generate(ask(messages)))).toMatchObject({ kind: 'invalid' });
    expect(server.requests).toHaveLength(2);
    expect(await failureOf(connect(format, server).generate(ask([user])))).toMatchObject({ kind: 'invalid' });
    expect(server.requests).toHaveLength(3);
  },
);

it('a request that the provider refuses for a reason other than thinking is sent only once', async () => {
  await using provider = await startProvider({ answers: [THINKS, { fault: 'invalid' }, { fault: 'unauthorized' }] });
  const model = connect('anthropic', provider);
  const { content, toolCalls, raw } = await model.generate(ask([user]));
  const messages: Message[] = [
    user,
    { role: 'assistant', content, toolCalls: [...toolCalls], raw },
    { role: 'tool', content: 'A', toolCallId: toolCalls[0]?.id ?? '' },
  ];
  expect(await failureOf(model.generate(ask(messages)))).toMatchObject({ kind: 'invalid' });
  expect(await failureOf(model.generate(ask(messages)))).toMatchObject({ kind: 'fatal' });
  expect(provider.requests).toHaveLength(3);
});
