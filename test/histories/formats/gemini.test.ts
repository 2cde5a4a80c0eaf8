import { expect, test } from 'vitest';
import { outline, readLines } from './read-file.ts';

const FACTS = { sessionId: 'g-1', projectHash: 'h', startTime: 't' };
const USER = { id: 'u1', type: 'user', content: [{ text: 'Look.' }] };
const LOOKED = [
  { role: 'user', content: 'Look.' },
  {
    role: 'assistant',
    content: '',
    calls: [
      ['c1', 'read', '{"path":"a"}'],
      ['c2', 'read', '{"path":"b"}'],
    ],
  },
  { role: 'tool', content: 'A', toolCallId: 'c1' },
  { role: 'tool', content: 'B', toolCallId: 'c2' },
];

function answer(id: string, output: string): object {
  return { functionResponse: { id, name: 'read', response: { output } } };
}

/** A call whose record has the results of all calls beside it, as newer versions write them. */
function called(id: string, path: string, result: unknown = [answer('c1', 'A'), answer('c2', 'B')]): object {
  return { id, name: 'read', args: { path }, status: 'success', result };
}

const ANSWER = { id: 'm1', type: 'gemini', content: '', toolCalls: [called('c1', 'a'), called('c2', 'b')] };

test('an import of a Gemini CLI session gives each call its own result, even if each call’s record contains all results of the answer', () => {
  const [read] = readLines(FACTS, USER, ANSWER);
  expect(outline(read?.messages ?? [])).toEqual(LOOKED);
  expect(read?.notes).toEqual([]);
});

test('an import of a Gemini CLI session keeps a tool result that is a text or a single part', () => {
  const toolCalls = [called('c1', 'a', 'A'), called('c2', 'b', answer('c2', 'B'))];
  const [read] = readLines(FACTS, USER, { ...ANSWER, toolCalls });
  expect(outline(read?.messages ?? [])).toEqual(LOOKED);
});

const CALLS = ['a', 'b'].map((path, index) => ({
  functionCall: { id: `c${index + 1}`, name: 'read', args: { path } },
}));

test('an import of a Gemini CLI session reads a call and its result once, even if the message content repeats them', () => {
  const thought = { text: 'Hm', thought: true };
  const content = [thought, ...CALLS];
  const [read] = readLines(
    FACTS,
    USER,
    { ...ANSWER, content, thoughts: [{ subject: 'Hm', description: '' }] },
    { id: 'r1', type: 'user', content: [answer('c1', 'A'), answer('c2', 'B')] },
    { id: 'u2', type: 'user', content: 'Go on.' },
  );
  expect(outline(read?.messages ?? [])).toEqual([...LOOKED, { role: 'user', content: 'Go on.' }]);
  expect(read?.messages[1]).toMatchObject({ raw: { items: [{ thinking: 'Hm' }] } });
  expect(read?.notes).toEqual([
    {
      at: 'line 4',
      kind: 'left_out',
      what: 'results that the file holds twice are not part of the conversation',
      count: 2,
    },
  ]);
});

test('an import of a Gemini CLI session keeps messages that a later message list repeats, masks or summarizes, and reads added ones', () => {
  const summary = { id: 's1', type: 'user', content: '<state_snapshot>' };
  const masked = { ...ANSWER, toolCalls: [called('c1', 'a', 'masked'), called('c2', 'b', 'masked')] };
  const next = { id: 'u3', type: 'user', content: 'Next.' };
  const all = [
    ...LOOKED,
    { role: 'user', content: 'Go on.' },
    { role: 'assistant', content: 'Done.' },
    { role: 'user', content: 'Next.' },
  ];
  const done = { id: 'm2', type: 'gemini', content: 'Done.' };
  const lines = [FACTS, USER, ANSWER, { id: 'u2', type: 'user', content: 'Go on.' }, done];
  const [repeated] = readLines(...lines, { $set: { messages: [USER, masked, ...lines.slice(3), next] } });
  expect(outline(repeated?.messages ?? [])).toEqual(all);
  const [compressed] = readLines(...lines, { $set: { messages: [summary, done] } }, next);
  expect(outline(compressed?.messages ?? [])).toEqual(all);
  expect(compressed?.notes.map(({ at, what }) => `${at}: ${what}`)).toEqual([
    'line 6: summaries of messages that are in the file are not part of the conversation',
  ]);
});

test('an import of a Gemini CLI session keeps a message that a record of another type mentions', () => {
  const [read] = readLines(FACTS, USER, ANSWER, { type: 'message_update', id: 'm1', tokens: { input: 1 } });
  expect(outline(read?.messages ?? [])).toEqual(LOOKED);
});

test('an import reads each line with a Gemini request as one conversation, and refuses a line without `contents`', () => {
  const request = (text: string): object => ({
    systemInstruction: { parts: [{ text: 'Be brief.' }] },
    contents: [{ role: 'user', parts: [{ text }] }],
  });
  const read = readLines(request('One.'), request('Two.'));
  expect(read.map(({ messages }) => outline(messages))).toEqual(
    ['One.', 'Two.'].map((content) => [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content },
    ]),
  );
  expect(() => readLines(request('One.'), { other: 1 })).toThrow(
    expect.objectContaining({ code: 'invalid_input', field: 'line 2' }),
  );
});
