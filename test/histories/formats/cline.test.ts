import { expect, test } from 'vitest';
import { outline, readDocument } from './read-file.ts';

const TASK = { role: 'user', content: [{ type: 'text', text: '<task>\nList.\n</task>' }] };

function call(...ids: readonly string[]): object {
  const uses = ids.map((id) => ({ type: 'tool_use', id, name: 'read_file', input: { path: id } }));
  return { role: 'assistant', content: uses, modelInfo: { modelId: 'm' }, metrics: {} };
}

test('an import of a Cline task reads a user text that answers a native tool call as the result of this call', () => {
  const notRun = 'Tool [read_file] was not executed because a tool has already been used in this message.';
  const [read] = readDocument([
    TASK,
    call('c1', 'c2'),
    {
      role: 'user',
      content: [
        { type: 'text', text: "[read_file for 'c1'] Result:\nText of c1." },
        { type: 'text', text: notRun },
        { type: 'text', text: '<environment_details>\n# Mode\n</environment_details>' },
      ],
    },
    { role: 'assistant', content: [{ type: 'text', text: 'Done.' }] },
  ]);
  expect(outline(read?.messages ?? []).slice(2)).toEqual([
    { role: 'tool', content: "[read_file for 'c1'] Result:\nText of c1.", toolCallId: 'c1' },
    { role: 'tool', content: notRun, toolCallId: 'c2' },
    { role: 'user', content: '<environment_details>\n# Mode\n</environment_details>' },
    { role: 'assistant', content: 'Done.' },
  ]);
  expect(read?.notes).toEqual([
    { at: '[2].content[0]', kind: 'mapped', what: 'a text that answers a call is kept as its result', count: 2 },
  ]);
});

test('an import of a Cline task does not change a text that answers no call, or a call that has a result', () => {
  const [read] = readDocument([
    TASK,
    call('c1'),
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'c1', content: 'Text of c1.' },
        { type: 'text', text: '[read_file] Result: is what I expect' },
      ],
    },
  ]);
  expect(outline(read?.messages ?? []).slice(2)).toEqual([
    { role: 'tool', content: 'Text of c1.', toolCallId: 'c1' },
    { role: 'user', content: '[read_file] Result: is what I expect' },
  ]);
});

test('an import reads a session of newer Cline versions with its system prompt and its files', () => {
  const [read] = readDocument({
    version: 1,
    sessionId: 's-1',
    agent: 'lead',
    system_prompt: 'You are Cline.',
    messages: [
      {
        id: 'm1',
        role: 'user',
        ts: 1,
        sessionId: 's-1',
        content: [
          { type: 'text', text: 'Fix it.' },
          { type: 'file', path: '/a.ts', content: 'let a;' },
        ],
      },
      { id: 'm2', role: 'assistant', ts: 2, content: [{ type: 'text', text: 'Done.' }], modelInfo: {}, metrics: {} },
    ],
  });
  expect(read).toMatchObject({ format: 'cline', id: 's-1', notes: [] });
  expect(outline(read?.messages ?? [])).toEqual([
    { role: 'system', content: 'You are Cline.' },
    { role: 'user', content: 'Fix it.\n<file_content path="/a.ts">\nlet a;\n</file_content>' },
    { role: 'assistant', content: 'Done.' },
  ]);
});

test('an import of a Roo Code task leaves out summaries and truncation marks if the messages behind them are in the file', () => {
  const [read] = readDocument([
    { ...TASK, condenseParent: 'k1' },
    {
      role: 'assistant',
      ts: 2,
      content: [
        { type: 'reasoning', text: 'Hm', summary: [] },
        { type: 'text', text: 'Done.' },
        { type: 'thoughtSignature', thoughtSignature: 'xyz' },
      ],
    },
    { role: 'user', ts: 3, content: [{ type: 'text', text: 'Summary' }], isSummary: true, condenseId: 'k1' },
    {
      role: 'user',
      ts: 4,
      content: [{ type: 'text', text: 'Truncated' }],
      isTruncationMarker: true,
      truncationId: 't',
    },
    { role: 'user', ts: 5, content: [{ type: 'text', text: 'Old' }], isSummary: true },
  ]);
  expect(outline(read?.messages ?? []).slice(1)).toEqual([
    { role: 'assistant', content: 'Done.' },
    { role: 'user', content: 'Old' },
  ]);
  expect(read?.messages[1]).toMatchObject({ raw: { items: [{ text: 'Hm' }, { thoughtSignature: 'xyz' }] } });
  expect(read?.notes).toMatchObject([
    {
      at: '[2]',
      kind: 'left_out',
      what: 'summaries of messages that are in the file are not part of the conversation',
    },
    { at: '[3]', kind: 'left_out' },
  ]);
});
