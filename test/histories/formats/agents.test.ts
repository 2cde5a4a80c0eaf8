import { describe, expect, test } from 'vitest';
import { outline, readDocument, readLines } from './read-file.ts';

const CALLED = [
  { role: 'user', content: 'List.' },
  { role: 'assistant', content: 'I list.', calls: [['c1', 'bash', '{"command":"ls"}']] },
  { role: 'tool', content: 'a.ts', toolCallId: 'c1' },
  { role: 'assistant', content: 'Done.' },
];

function entry(id: string, parentId: string | null, message: object): object {
  return { type: 'message', id, parentId, timestamp: 't', message };
}

test('an import of a pi session reads the newest branch', () => {
  const call = { type: 'toolCall', id: 'c1', name: 'bash', arguments: { command: 'ls' } };
  const [read] = readLines(
    { type: 'session', version: 3, id: 'pi-1', timestamp: 't', cwd: '/' },
    { type: 'model_change', id: 'x', parentId: null, modelId: 'm' },
    entry('1', 'x', { role: 'user', content: [{ type: 'text', text: 'List.' }], timestamp: 1 }),
    entry('2a', '1', { role: 'assistant', content: [{ type: 'text', text: 'Another branch.' }] }),
    entry('2', '1', {
      role: 'assistant',
      content: [{ type: 'thinking', thinking: 'Hm' }, { type: 'text', text: 'I list.' }, call],
      usage: {},
      stopReason: 'toolUse',
    }),
    entry('3', '2', {
      role: 'toolResult',
      toolCallId: 'c1',
      toolName: 'bash',
      content: [{ type: 'text', text: 'a.ts' }],
      details: {},
      isError: false,
    }),
    { type: 'compaction', id: '3c', parentId: '3', summary: 's', firstKeptEntryId: '2', tokensBefore: 9 },
    entry('4', '3c', { role: 'assistant', content: [{ type: 'text', text: 'Done.' }] }),
  );
  expect(read).toMatchObject({ format: 'pi', id: 'pi-1' });
  expect(outline(read?.messages ?? [])).toEqual(CALLED);
  expect(read?.notes.map(({ what }) => what.replace(/ are .*/, ''))).toEqual([
    'entries of type model_change',
    'entries of other branches',
    'summaries of messages that',
  ]);
});

test('an import reads an exported opencode session', () => {
  const state = { status: 'completed', input: { command: 'ls' }, output: 'a.ts', title: 'ls', metadata: {}, time: {} };
  const [read] = readDocument({
    info: { id: 'ses_1', title: 'List' },
    messages: [
      { info: { id: 'm1', role: 'user' }, parts: [{ id: 'p', type: 'text', text: 'List.' }] },
      {
        info: { id: 'm2', role: 'assistant' },
        parts: [
          { type: 'step-start' },
          { type: 'reasoning', text: 'Hm', time: {} },
          { type: 'text', text: 'I list.' },
          { type: 'tool', callID: 'c1', tool: 'bash', state },
          { type: 'step-finish', tokens: {} },
          { type: 'step-start' },
          { type: 'text', text: 'Done.' },
        ],
      },
    ],
  });
  expect(read).toMatchObject({ format: 'opencode', id: 'ses_1' });
  expect(outline(read?.messages ?? [])).toEqual(CALLED);
});

test('an import of an opencode session keeps pictures of tool results, and leaves out messages that the user took back', () => {
  const attachments = [{ type: 'file', mime: 'image/png', url: 'data:image/png;base64,AA==' }];
  const state = { status: 'completed', input: { path: 'a.png' }, output: 'Read.', attachments };
  const user = (id: string, text: string): object => ({ info: { id, role: 'user' }, parts: [{ type: 'text', text }] });
  const [read] = readDocument({
    info: { id: 'ses_2', revert: { messageID: 'm3' } },
    messages: [
      user('m1', 'Look.'),
      { info: { id: 'm2', role: 'assistant' }, parts: [{ type: 'tool', callID: 'c1', tool: 'read', state }] },
      user('m3', 'Taken back.'),
      user('m4', 'Taken back, too.'),
    ],
  });
  expect(read?.messages.map(({ role, content }) => [role, content])).toEqual([
    ['user', 'Look.'],
    ['assistant', ''],
    ['tool', 'Read.'],
  ]);
  expect(read?.messages[2]?.parts).toEqual([
    { type: 'text', text: 'Read.' },
    { type: 'image', mediaType: 'image/png', url: 'data:image/png;base64,AA==' },
  ]);
  expect(read?.notes).toEqual([
    {
      at: 'messages[2]',
      kind: 'left_out',
      what: 'messages that were taken back are not part of the conversation',
      count: 2,
    },
  ]);
});

const GEMINI_CALL = { id: 'c1', name: 'bash', args: { command: 'ls' } };
const RESPONSE = { functionResponse: { id: 'c1', name: 'bash', response: { output: 'a.ts' } } };
const GEMINI_MESSAGES = [
  { id: '1', type: 'user', content: 'List.' },
  {
    id: '2',
    type: 'gemini',
    content: 'I list.',
    thoughts: [{ subject: 'Plan', description: 'List the folder.' }],
    toolCalls: [{ ...GEMINI_CALL, result: [RESPONSE], status: 'success', resultDisplay: 'a.ts' }],
    tokens: {},
  },
  { id: '3', type: 'info', content: 'Update available' },
  { id: '4', type: 'gemini', content: [{ text: 'Done.' }] },
];

test('an import reads a Gemini CLI session as one JSON document and as JSON lines', () => {
  const facts = { sessionId: 'g-1', projectHash: 'h', startTime: 't' };
  const [whole] = readDocument({ ...facts, messages: GEMINI_MESSAGES });
  const [lines] = readLines(
    facts,
    ...GEMINI_MESSAGES.slice(0, 2),
    { id: '2b', type: 'user', content: 'Taken back.' },
    { $rewindTo: '2b' },
    { $set: { lastUpdated: 't' } },
    ...GEMINI_MESSAGES.slice(1),
  );
  for (const read of [whole, lines]) {
    expect(read).toMatchObject({ format: 'gemini', id: 'g-1' });
    expect(outline(read?.messages ?? [])).toEqual(CALLED);
  }
});

test('an import reads the contents of a Gemini request, even if its calls have no ids', () => {
  const { id: _id, ...call } = GEMINI_CALL;
  const [read] = readDocument({
    systemInstruction: { parts: [{ text: 'Be brief.' }] },
    contents: [
      { role: 'user', parts: [{ text: 'List.' }] },
      { role: 'model', parts: [{ text: 'Hm', thought: true }, { text: 'I list.' }, { functionCall: call }] },
      { role: 'user', parts: [{ functionResponse: { name: 'bash', response: { output: 'a.ts' } } }] },
      { role: 'model', parts: [{ text: 'Done.' }] },
    ],
  });
  const named = JSON.parse(JSON.stringify(CALLED).replaceAll('c1', 'call_1')) as unknown[];
  expect(outline(read?.messages ?? [])).toEqual([{ role: 'system', content: 'Be brief.' }, ...named]);
});

test('an import refuses an unknown part of a Gemini request with the path of the part', () => {
  const contents = [{ role: 'user', parts: [{ hologram: {} }] }];
  expect(() => readDocument({ contents })).toThrow(
    'contents[0].parts[0]: turnfold does not know a part with these keys: hologram',
  );
});

test('an import reads each session in a chat history of aider', () => {
  const text = [
    '# aider chat started at 2026-01-02 03:04:05',
    '> Aider v1',
    '#### Hi  ',
    '#### there  ',
    '',
    'Hello.',
    '',
    '# A heading of the answer',
    '> Tokens: 5 sent',
    '# aider chat started at 2026-01-03 03:04:05',
    '> nothing was said',
  ].join('\n');
  const read = readDocument(text);
  expect(read).toHaveLength(1);
  expect(outline(read[0]?.messages ?? [])).toEqual([
    { role: 'user', content: 'Hi\nthere' },
    { role: 'assistant', content: 'Hello.\n\n# A heading of the answer' },
  ]);
  expect(read[0]?.notes).toMatchObject([
    { at: 'line 2', count: 2, what: 'reports of aider are not part of the conversation' },
  ]);
});

describe('an import of a chat history of aider', () => {
  const heading = [
    '# aider chat started at 2026-01-02 03:04:05',
    '',
    '#### Plan it.  ',
    '',
    '#### Step 1',
    '',
    'Read.',
  ];

  test('an import of a chat history of aider keeps a heading of an answer in the answer', () => {
    const [read] = readDocument(heading.join('\n'));
    expect(outline(read?.messages ?? [])).toEqual([
      { role: 'user', content: 'Plan it.' },
      { role: 'assistant', content: '#### Step 1\n\nRead.' },
    ]);
  });

  test('an import of an aider history takes a heading in an answer for a user line if an editor removed its trailing spaces', () => {
    const [read] = readDocument(heading.map((line) => line.trimEnd()).join('\n'));
    expect(outline(read?.messages ?? [])).toEqual([
      { role: 'user', content: 'Plan it.\nStep 1' },
      { role: 'assistant', content: 'Read.' },
    ]);
  });

  test('an import of an aider history decides for each session whether an editor removed the trailing spaces', () => {
    const trimmed = ['# aider chat started at 2026-01-01 01:01:01', '', '#### Fix it', '', 'Done.', ''];
    const reads = readDocument([...trimmed, ...heading].join('\n'));
    expect(reads.map(({ messages }) => outline(messages))).toEqual([
      [
        { role: 'user', content: 'Fix it' },
        { role: 'assistant', content: 'Done.' },
      ],
      [
        { role: 'user', content: 'Plan it.' },
        { role: 'assistant', content: '#### Step 1\n\nRead.' },
      ],
    ]);
  });

  test('an import of an aider history takes an empty last line of the user for the user', () => {
    const [read] = readDocument([heading[0], '#### Fix it  ', '####  ', '', 'Done.'].join('\n'));
    expect(outline(read?.messages ?? [])).toEqual([
      { role: 'user', content: 'Fix it' },
      { role: 'assistant', content: 'Done.' },
    ]);
  });
});
