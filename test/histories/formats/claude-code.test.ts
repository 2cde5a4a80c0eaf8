import { expect, test } from 'vitest';
import { outline, readLines } from './read-file.ts';

let made = 0;
function record(type: string, message: unknown, more: object = {}): object {
  made += 1;
  return {
    parentUuid: null,
    isSidechain: false,
    sessionId: 's-1',
    version: '2.1.0',
    uuid: `u${made}`,
    type,
    message,
    ...more,
  };
}

function answer(id: string, block: object, more: object = {}): object {
  const message = {
    id,
    type: 'message',
    role: 'assistant',
    model: 'claude',
    content: [block],
    stop_reason: null,
    usage: {},
  };
  return record('assistant', { ...message, context_management: null, container: null }, more);
}

function result(id: string, content: unknown): object {
  const message = { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content }] };
  return record('user', message, { toolUseResult: { stdout: 'x' } });
}

const SESSION = [
  { type: 'file-history-snapshot', messageId: 'm', snapshot: {}, isSnapshotUpdate: false },
  record('user', { role: 'user', content: 'Caveat' }, { isMeta: true }),
  record('user', { role: 'user', content: 'Fix the build.' }),
  answer('m1', { type: 'thinking', thinking: 'Look first.', signature: 'sig' }),
  answer('m1', { type: 'text', text: 'I look.' }),
  answer('m1', { type: 'tool_use', id: 't1', name: 'Read', input: { path: 'a.ts' } }),
  result('t1', 'export {}'),
  answer('m1', { type: 'tool_use', id: 't2', name: 'Bash', input: { command: 'ls' } }),
  answer('m9', { type: 'text', text: 'A subagent.' }, { isSidechain: true }),
  answer('m9', { type: 'text', text: 'Another.' }, { isSidechain: true }),
  result('t2', [{ type: 'text', text: 'a.ts' }]),
  {
    type: 'attachment',
    uuid: 'a1',
    sessionId: 's-1',
    attachment: { type: 'queued_command', prompt: 'And the tests.' },
  },
  { type: 'attachment', uuid: 'a2', sessionId: 's-1', attachment: { type: 'todo_reminder', content: [] } },
  { type: 'system', subtype: 'compact_boundary', uuid: 'c1', sessionId: 's-1', content: 'Conversation compacted' },
  record('user', { role: 'user', content: 'This session is continued …' }, { isCompactSummary: true }),
  answer('m2', { type: 'text', text: 'Done.' }),
  { type: 'summary', summary: 'Build', leafUuid: 'u9' },
];

test('an import of a Claude Code session merges the records of one answer, and puts each result behind its call', () => {
  const [read] = readLines(...SESSION);
  expect(read).toMatchObject({ format: 'claude-code', id: 's-1' });
  expect(outline(read?.messages ?? [])).toEqual([
    { role: 'user', content: 'Fix the build.' },
    {
      role: 'assistant',
      content: 'I look.',
      calls: [
        ['t1', 'Read', '{"path":"a.ts"}'],
        ['t2', 'Bash', '{"command":"ls"}'],
      ],
    },
    { role: 'tool', content: 'export {}', toolCallId: 't1' },
    { role: 'tool', content: 'a.ts', toolCallId: 't2' },
    { role: 'user', content: 'And the tests.' },
    { role: 'assistant', content: 'Done.' },
  ]);
});

test('an import of a Claude Code session keeps the thinking of an answer', () => {
  const [read] = readLines(...SESSION);
  expect(read?.messages[1]?.raw).toMatchObject({
    format: 'anthropic',
    items: [{ type: 'thinking', thinking: 'Look first.', signature: 'sig' }],
  });
});

test('an import of a Claude Code session notes each kind of left-out record once, with its count and its first line', () => {
  const [read] = readLines(...SESSION);
  const left = read?.notes.map(({ at, what, count = 1 }) => `${at} ${count} ${what.replace(/ are .*/, '')}`);
  expect(left).toEqual(
    [
      'line 1 1 records of type file-history-snapshot',
      'line 2 1 meta records, which the program wrote for itself,',
      'line 9 2 records of subagents',
      'line 12 1 a text that the user queued is kept as a user message',
      'line 13 1 attachments of type todo_reminder',
      'line 14 1 records of type system',
      'line 15 1 summaries of messages that',
      'line 17 1 records of type summary',
    ].map((text) =>
      text.includes('queued') ? 'line 12 1 a text that the user queued is kept as a user message' : text,
    ),
  );
});

test('an import of a continued Claude Code session keeps the summary at its start', () => {
  const [read] = readLines(
    record('user', { role: 'user', content: 'The story so far.' }, { isCompactSummary: true }),
    answer('m1', { type: 'text', text: 'Go on.' }),
  );
  expect(read?.messages.map(({ content }) => content)).toEqual(['The story so far.', 'Go on.']);
});

test('an import of a Claude Code session keeps the pictures of user messages and tool results', () => {
  const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AA==' } };
  const [read] = readLines(
    record('user', { role: 'user', content: [{ type: 'text', text: 'See.' }, image] }),
    answer('m1', { type: 'tool_use', id: 't1', name: 'Read', input: {} }),
    result('t1', [image]),
  );
  expect(read?.messages.map(({ parts }) => parts?.length)).toEqual([2, undefined, 1]);
});

test('an import of a Claude Code session refuses an unknown content block and names its line', () => {
  expect(() => readLines(record('user', { role: 'user', content: [{ type: 'hologram' }] }))).toThrow(
    /^line 1\.content\[0\]\.type: parts of type hologram are not known/,
  );
});
