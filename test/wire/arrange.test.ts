import { describe, expect, test } from 'vitest';
import type { Message, ToolCall } from '../../src/domain/message.ts';
import type { ToolDescription } from '../../src/domain/model.ts';
import type { WireFormat } from '../../src/domain/raw-items.ts';
import { type ArrangedRequest, arrangeRequest, FIRST_TEXT } from '../../src/wire/arrange.ts';
import { readCallArguments } from '../../src/wire/calls.ts';
import { NO_ORIGIN, type WireCall } from '../../src/wire/wire-request.ts';
import { errorOf } from '../domain/error-of.ts';
import { result, user } from './messages.ts';

const calls = (...given: Partial<ToolCall>[]): Message => ({
  role: 'assistant',
  content: '',
  toolCalls: given.map((call) => ({ id: 'a', name: 'read', arguments: '{}', ...call })),
});

function arrange(
  messages: readonly Message[],
  format: WireFormat = 'anthropic',
  system = '',
  tools: readonly ToolDescription[] = [],
): ArrangedRequest {
  return arrangeRequest({ model: 'm', system, tools, messages, maxOutputTokens: 100 }, format);
}

function callsOf({ items }: ArrangedRequest): WireCall[] {
  return items.flatMap((item) => (item.kind === 'assistant' ? item.calls : []));
}

describe('order', () => {
  test('a request is arranged with the first system messages first, and tool results after their call, with positions in the log (wire rule X10)', () => {
    const says = (content: string): Message => ({ role: 'system', content });
    const { items, system } = arrange(
      [says('Use French.'), user('Go'), calls({}), says('Use German.'), user('!'), result('a')],
      'anthropic',
      'Be brief.',
    );
    expect(items.map(({ kind, origin }) => [kind, origin])).toEqual([
      ['user', 1],
      ['assistant', 2],
      ['result', 5],
      ['user', 3],
      ['user', 4],
    ]);
    expect(system).toEqual([
      { origin: NO_ORIGIN, text: 'Be brief.' },
      { origin: 0, text: 'Use French.' },
    ]);
  });

  test('a request is arranged to start with a user message, a summary or a placeholder (wire rule X5)', () => {
    const placeholder = { kind: 'user', origin: NO_ORIGIN, parts: [{ kind: 'text', text: FIRST_TEXT }] };
    expect(arrange([calls({}), result('a')]).items[0]).toEqual(placeholder);
    expect(arrange([]).items).toEqual([placeholder]);
    expect(arrange([{ role: 'summary', content: 'Done.' }]).items).toMatchObject([{ kind: 'user', origin: 0 }]);
  });

  test('arrangeRequest throws for a history with a tool result without a call, or with a repeated call id', () => {
    expect(errorOf(() => arrange([result('a')]))).toMatchObject({
      code: 'orphan_result',
      field: 'messages[0].toolCallId',
    });
    expect(errorOf(() => arrange([calls({}), calls({})]))).toMatchObject({ code: 'duplicate_call' });
  });
});

describe('ids of calls', () => {
  const sent = (format: WireFormat, ...messages: Message[]): string[] =>
    callsOf(arrange(messages, format)).map(({ id }) => id);

  test('a tool call is sent under its provider’s id, or under its id in the log if another call already uses the provider’s id', () => {
    const provided = [calls({ id: 'c2_0', providerId: 'call_0' }), calls({ id: 'c4_0', providerId: 'call_0' })];
    expect(sent('anthropic', ...provided)).toEqual(['call_0', 'c4_0']);
  });

  test('a tool call with an illegal id is sent under a new legal id that no other call has', () => {
    expect(sent('anthropic', calls({ id: 'a:b_1' }, { id: 'a/b' }, { id: 'a:b' }))).toEqual([
      'a_b_1_1',
      'a_b_1',
      'a_b_2',
    ]);
    expect(sent('openai-chat', calls({ id: 'a:b' }))).toEqual(['a:b']);
    expect(sent('openai-responses', calls({ id: 'é'.repeat(90) }))).toEqual([`${'_'.repeat(32)}_1`]);
  });

  test.each([
    ['anthropic', 64],
    ['openai-chat', 40],
    ['openai-responses', 64],
  ] as const)('the format %s accepts tool call ids of up to %i characters unchanged', (format, length) => {
    expect(sent(format, calls({ id: 'y'.repeat(length) }))).toEqual(['y'.repeat(length)]);
    expect(sent(format, calls({ id: 'y'.repeat(length + 1) }))).toEqual([`${'y'.repeat(32)}_1`]);
  });
});

describe('tools', () => {
  const read = { name: 'read', description: 'Read a file.', parameters: { type: 'object' } };

  test('a call of a tool that does not exist has a legal name, and leaves tools and prefix hash unchanged (wire rule X6)', () => {
    const known = arrange([user('Go')], 'anthropic', '', [read]);
    const { items, tools, prefix } = arrange(
      [user('Go'), calls({ name: 'made up.tool' }), result('a')],
      'anthropic',
      '',
      [read],
    );
    expect(tools).toEqual([read]);
    expect(prefix).toBe(known.prefix);
    expect(items[1]).toMatchObject({ calls: [{ name: 'made_up_tool' }] });
  });

  test('a request without tools has one placeholder if its messages have tool calls, whatever their number (wire rule X6)', () => {
    const names = Array.from({ length: 20 }, (_, index) => `made_up_${index}`);
    const history = names.flatMap((name, index) => [calls({ id: `c${index}`, name }), result(`c${index}`)]);
    const { tools } = arrange([user('Go'), ...history]);
    expect(tools.map(({ name }) => name)).toEqual(['unknown_tool']);
    expect(arrange([user('Go'), ...history.slice(0, 2)]).tools).toEqual(tools);
  });

  test('the prefix hash of a request changes with its tools and system texts, not with its messages', () => {
    const { prefix } = arrange([user('Go')]);
    expect(arrange([user('Stop'), user('Go')]).prefix).toBe(prefix);
    expect(arrange([user('Go')], 'anthropic', 'Be brief.').prefix).not.toBe(prefix);
    expect(arrange([user('Go')], 'anthropic', '', [read]).prefix).not.toBe(prefix);
  });
});

test.each<[string, unknown, string]>([
  ['{"n": 1.0}', { n: 1 }, '{"n": 1.0}'],
  ['', {}, '{}'],
  ['[1]', { invalid_arguments: '[1]' }, '{"invalid_arguments":"[1]"}'],
  ['{"cut": "o', { invalid_arguments: '{"cut": "o' }, '{"invalid_arguments":"{\\"cut\\": \\"o"}'],
  ['{"ok":"\\ud83d\\udc4d"}', { ok: '👍' }, '{"ok":"\\ud83d\\udc4d"}'],
  ['{"half":"\\ud83d"}', { half: '\ufffd' }, '{"half":"\ufffd"}'],
  ['{"path":"C:\\\\ud83d"}', { path: 'C:\\ud83d' }, '{"path":"C:\\\\ud83d"}'],
  ['{"id": 12345678901234567890}', { id: '12345678901234567890' }, '{"id": 12345678901234567890}'],
  ['{"ids":[1,-9007199254740993]}', { ids: [1, '-9007199254740993'] }, '{"ids":[1,-9007199254740993]}'],
  ['{"n":1e400}', { n: '1e400' }, '{"n":1e400}'],
  ['{"n":9007199254740992,"e":1e21}', { n: 9007199254740992, e: 1e21 }, '{"n":9007199254740992,"e":1e21}'],
  ['{"said":"12345678901234567890"}', { said: '12345678901234567890' }, '{"said":"12345678901234567890"}'],
])(
  'the tool call arguments `%s` are sent as a JSON object with well-formed text (wire rules X7, X8)',
  (given, input, text) => {
    expect(readCallArguments({ arguments: given })).toEqual({ input, arguments: text });
  },
);
