import type { Anthropic } from '@anthropic-ai/sdk';
import { describe, expect, it } from 'vitest';
import { connectAnthropic } from './clients.ts';
import { startProvider } from './provider.ts';

type Params = Anthropic.MessageCreateParamsNonStreaming;
const tools: Anthropic.Tool[] = [{ name: 'read', description: 'Reads.', input_schema: { type: 'object' } }];
const first: Params = {
  model: 'claude-opus-5-5',
  max_tokens: 4096,
  system: 'You read files.',
  tools,
  thinking: { type: 'adaptive' },
  messages: [{ role: 'user', content: 'Look at a and b.' }],
};
const calls = [
  { name: 'read', arguments: { path: 'a' } },
  { name: 'read', arguments: { path: 'b — ✂️' } },
];

function results({ content }: Anthropic.Message): Anthropic.MessageParam {
  const ids = content.flatMap((block) => (block.type === 'tool_use' ? [block.id] : []));
  return { role: 'user', content: ids.map((id) => ({ type: 'tool_result', tool_use_id: id, content: `read ${id}` })) };
}

function extend(params: Params, message: Anthropic.Message): Params {
  const said = { role: 'assistant', content: message.content as Anthropic.ContentBlockParam[] } as const;
  return { ...params, messages: [...params.messages, said, results(message)] };
}

describe('Anthropic through its SDK', () => {
  it('the Anthropic test server streams the same answer that it returns without streaming', async () => {
    const answer = {
      thinking: 'Both, I think.',
      text: 'Reading — ✂️.',
      calls,
      usage: { input: 100, cachedInput: 60, cacheWrite: 30, output: 20, thinking: 7 },
    };
    await using provider = await startProvider({ answers: [answer, answer] });
    const client = connectAnthropic(provider);
    const whole = await client.messages.create(first);
    const streamed = await client.messages.stream(first).finalMessage();
    const kinds = ['thinking', 'text', 'tool_use', 'tool_use'];
    expect(whole.content.map(({ type }) => type)).toEqual(kinds);
    expect(whole).toMatchObject({
      stop_reason: 'tool_use',
      usage: {
        input_tokens: 10,
        cache_read_input_tokens: 60,
        cache_creation_input_tokens: 30,
        output_tokens: 20,
        output_tokens_details: { thinking_tokens: 7 },
      },
    });
    const withoutIds = ({ content, stop_reason, usage }: Anthropic.Message): unknown => ({
      content: content.map((block) => ({ ...block, id: '' })),
      stop_reason,
      usage,
    });
    expect(withoutIds(streamed)).toEqual(withoutIds(whole));
    expect(provider.requests.map(({ isStream }) => isStream)).toEqual([false, true]);
  });

  it('the Anthropic test server accepts its own thinking over several tool rounds, and with other cache breakpoints', async () => {
    const answers = [
      { thinking: 'One.', calls },
      { parts: [{ thinking: '', isRedacted: true }, { text: 'More.' }, { call: { name: 'read', arguments: {} } }] },
      { text: 'Done.' },
    ];
    await using provider = await startProvider({ answers });
    const client = connectAnthropic(provider);
    const second = extend(first, await client.messages.create(first));
    const third = extend(second, await client.messages.stream(second).finalMessage());
    const system = [{ type: 'text', text: 'You read files.', cache_control: { type: 'ephemeral' } }] as const;
    const last = await client.messages.create({ ...third, system: [...system] });
    expect(last.content).toMatchObject([{ type: 'text', text: 'Done.' }]);
  });

  it.each([
    ['system', (params: Params): Params => ({ ...params, system: 'You write files.' }), 'The `system` prompt differs'],
    [
      'tools',
      (params: Params): Params => ({ ...params, tools: [{ ...tools[0]!, description: 'Reads all.' }] }),
      'bound',
    ],
    [
      'an earlier message',
      (params: Params): Params => ({
        ...params,
        messages: [{ role: 'user', content: 'Look at a.' }, ...params.messages.slice(1)],
      }),
      'bound to a different conversation',
    ],
  ])('the Anthropic test server refuses thinking after an edit of %s (wire rule A8)', async (_name, edit, words) => {
    await using provider = await startProvider({ answers: [{ thinking: 'One.', calls }, { text: 'Older models.' }] });
    const client = connectAnthropic(provider);
    const second = extend(first, await client.messages.create(first));
    await expect(client.messages.create(edit(second))).rejects.toThrow(words);
    expect(provider.requests[1]?.refusal?.rule).toBe('A8');
    await expect(client.messages.create(second)).resolves.toMatchObject({ stop_reason: 'end_turn' });
  });

  it('the Anthropic test server accepts an edited history if its signatures cover only the thinking block itself', async () => {
    const answers = [{ thinking: 'One.', calls }, { text: 'Done.' }];
    await using provider = await startProvider({ answers, strict: { signatures: 'block' } });
    const client = connectAnthropic(provider);
    const second = extend(first, await client.messages.create(first));
    await expect(client.messages.create({ ...second, system: 'Other.' })).resolves.toBeDefined();
  });

  it('the Anthropic test server refuses a gap between thinking blocks, but accepts a history without the oldest blocks', async () => {
    const answers = [
      { thinking: '1', text: 'a' },
      { thinking: '2', text: 'b' },
      { thinking: '3', text: 'c' },
      { text: 'd' },
    ];
    await using provider = await startProvider({ answers });
    const client = connectAnthropic(provider);
    const history: Anthropic.MessageParam[] = [];
    for (const question of ['one', 'two', 'three']) {
      history.push({ role: 'user', content: question });
      const { content } = await client.messages.create({ ...first, messages: history });
      history.push({ role: 'assistant', content: content as Anthropic.ContentBlockParam[] });
    }
    const without = (...gone: number[]): Params => ({
      ...first,
      messages: [
        ...history.map((message, index) =>
          gone.includes(index)
            ? { ...message, content: (message.content as Anthropic.TextBlockParam[]).slice(1) }
            : message,
        ),
        { role: 'user', content: 'four' },
      ],
    });
    await expect(client.messages.create(without(3))).rejects.toThrow('messages.5.content.0: Invalid `signature`');
    await expect(client.messages.create(without(1, 3))).resolves.toBeDefined();
  });

  it('the Anthropic test server refuses an unfinished tool loop whose thinking is missing or changed (wire rule A7)', async () => {
    await using provider = await startProvider({ answers: [{ thinking: 'One.', calls }, { text: 'Without.' }] });
    const client = connectAnthropic(provider);
    const message = await client.messages.create(first);
    const stripped = extend(first, { ...message, content: message.content.slice(1) });
    await expect(client.messages.create(stripped)).rejects.toThrow(
      '`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.',
    );
    const off = { ...stripped, thinking: { type: 'disabled' } } as const;
    await expect(client.messages.create(off)).resolves.toMatchObject({ stop_reason: 'end_turn' });
  });

  it('the Anthropic test server compacts messages, and accepts its own compaction item back only verbatim (wire rule A10)', async () => {
    const answers = [{ parts: [{ compaction: 'They spoke of a.' }] }, { text: 'On.' }];
    await using provider = await startProvider({ answers });
    const betas = ['compact-2026-09-04'];
    const client = connectAnthropic(provider);
    const params = { ...first, betas, thinking: { type: 'adaptive' } } as const;
    const compacted = await client.beta.messages.create({ ...params, compaction: { type: 'summarize' } });
    expect(compacted.stop_reason).toBe('compaction');
    const [block] = compacted.content;
    if (block?.type !== 'compaction') throw new Error('no compaction');
    const goOn = (summary: Anthropic.Beta.BetaCompactionBlockParam) =>
      client.beta.messages.create({
        ...params,
        messages: [{ role: 'user', content: [summary, { type: 'text', text: 'Go on.' }] }],
      });
    await expect(goOn({ ...block, content: 'They spoke of b.' })).rejects.toMatchObject({
      errorCode: 'compaction_content_mismatch',
    });
    await expect(goOn(block)).resolves.toMatchObject({ stop_reason: 'end_turn' });
  });

  it.each([
    ['cut_off', 'max_tokens'],
    ['refusal', 'refusal'],
    ['window_full', 'model_context_window_exceeded'],
    ['paused', 'pause_turn'],
  ] as const)('the Anthropic test server ends a scripted %s answer with the stop reason %s', async (end, reason) => {
    await using provider = await startProvider({ answers: [{ text: 'So', end }] });
    const stream = connectAnthropic(provider).messages.stream(first);
    expect(await stream.finalMessage()).toMatchObject({ stop_reason: reason });
  });
});
