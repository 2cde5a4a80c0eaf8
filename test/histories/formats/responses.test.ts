import { expect, test } from 'vitest';
import { outline, readDocument, readLines } from './read-file.ts';

const ITEMS = [
  { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Be brief.' }] },
  { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Fix it.' }] },
  { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'xyz' },
  { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'I look.', annotations: [] }] },
  { type: 'function_call', call_id: 'c1', name: 'read', arguments: '{"path":"a"}' },
  { type: 'custom_tool_call', call_id: 'c2', name: 'apply_patch', input: '*** Begin Patch' },
  { type: 'function_call_output', call_id: 'c1', output: 'text of a' },
  { type: 'custom_tool_call_output', call_id: 'c2', output: [{ type: 'input_text', text: 'Success' }] },
  { type: 'mcp_call', id: 'm1', server_label: 'gh', name: 'get_issue', arguments: '{"n":7}', output: 'Issue 7' },
  { type: 'local_shell_call', call_id: 'l1', action: { type: 'exec', command: ['cargo', 'test'] } },
  { type: 'function_call_output', call_id: 'l1', output: 'FAILED' },
  { type: 'web_search_call', id: 'w1', status: 'completed', action: { type: 'search', query: 'E0502' } },
  { type: 'file_search_call', id: 'f1', queries: ['q'], results: [{ text: 'hit' }] },
  { type: 'shell_call', call_id: 's1', action: { commands: ['ls'] } },
  {
    type: 'shell_call_output',
    call_id: 's1',
    output: [{ stdout: 'a', stderr: '', outcome: { type: 'exit', exit_code: 0 } }],
  },
  { type: 'computer_call', call_id: 'p1', action: { type: 'click', x: 1, y: 2 }, pending_safety_checks: [] },
  {
    type: 'computer_call_output',
    call_id: 'p1',
    output: { type: 'computer_screenshot', image_url: 'data:image/png;base64,AA==' },
  },
  { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Done.' }] },
];

const READ = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: 'Fix it.' },
  {
    role: 'assistant',
    content: 'I look.',
    calls: [
      ['c1', 'read', '{"path":"a"}'],
      ['c2', 'apply_patch', '{"input":"*** Begin Patch"}'],
    ],
  },
  { role: 'tool', content: 'text of a', toolCallId: 'c1' },
  { role: 'tool', content: 'Success', toolCallId: 'c2' },
  { role: 'assistant', content: '', calls: [['m1', 'gh.get_issue', '{"n":7}']] },
  { role: 'tool', content: 'Issue 7', toolCallId: 'm1' },
  { role: 'assistant', content: '', calls: [['l1', 'local_shell', '{"command":["cargo","test"]}']] },
  { role: 'tool', content: 'FAILED', toolCallId: 'l1' },
  { role: 'assistant', content: '', calls: [['w1', 'web_search', '{"type":"search","query":"E0502"}']] },
  { role: 'tool', content: 'status: completed. The item of the provider has no result', toolCallId: 'w1' },
  { role: 'assistant', content: '', calls: [['f1', 'file_search', '{"queries":["q"]}']] },
  { role: 'tool', content: '[{"text":"hit"}]', toolCallId: 'f1' },
  { role: 'assistant', content: '', calls: [['s1', 'shell', '{"commands":["ls"]}']] },
  { role: 'tool', content: '[{"stdout":"a","stderr":"","outcome":{"type":"exit","exit_code":0}}]', toolCallId: 's1' },
  { role: 'assistant', content: '', calls: [['p1', 'computer', '{"type":"click","x":1,"y":2}']] },
  { role: 'tool', content: '', toolCallId: 'p1' },
  { role: 'assistant', content: 'Done.' },
];

test('an import of Responses API items reads every kind of call, and merges parallel calls', () => {
  const [read] = readDocument(ITEMS);
  expect(read?.format).toBe('openai-responses');
  expect(outline(read?.messages ?? [])).toEqual(READ);
  expect(read?.messages[2]?.raw).toMatchObject({ format: 'openai-responses', items: [{ encrypted_content: 'xyz' }] });
  expect(read?.notes).toEqual([]);
});

test('an import reads the instructions and the input of a Responses API request', () => {
  const [read] = readDocument({ model: 'gpt', instructions: 'You help.', input: ITEMS });
  expect(outline(read?.messages ?? [])).toEqual([{ role: 'system', content: 'You help.' }, ...READ]);
});

test('an import of a Codex rollout (session file) reads its items, and counts its other records by their types', () => {
  const at = '2026-01-01T00:00:00Z';
  const [read] = readLines(
    { timestamp: at, type: 'session_meta', payload: { id: 'r-1', cwd: '/', base_instructions: { text: 'x' } } },
    ...ITEMS.map((payload) => ({ timestamp: at, type: 'response_item', payload })),
    { timestamp: at, type: 'event_msg', payload: { type: 'token_count' } },
    { timestamp: at, type: 'event_msg', payload: { type: 'agent_message', message: 'Done.' } },
    { timestamp: at, type: 'turn_context', payload: {} },
  );
  expect(read).toMatchObject({ format: 'codex', id: 'r-1' });
  expect(outline(read?.messages ?? [])).toEqual(READ);
  expect(read?.notes).toMatchObject([
    { at: 'line 1', kind: 'left_out' },
    { at: 'line 20', count: 2, what: 'records of type event_msg are not part of the conversation' },
    { at: 'line 22' },
  ]);
});

function item(payload: object): object {
  return { type: 'response_item', payload };
}

function said(role: string, text: string): object {
  return item({ type: 'message', role, content: [{ type: 'input_text', text }] });
}

function event(type: string, fields: object = {}): object {
  return { type: 'event_msg', payload: { type, ...fields } };
}

test('an import of a Codex rollout leaves out the turns that the user took back', () => {
  const [read] = readLines(
    { type: 'session_meta', payload: { id: 'r-2' } },
    said('user', '<environment_context>'),
    said('user', 'First.'),
    event('user_message', { message: 'First.' }),
    said('assistant', 'One.'),
    said('user', '<environment_context>'),
    said('user', 'Second.'),
    event('user_message', { message: 'Second.' }),
    item({ type: 'function_call', call_id: 'c1', name: 'read', arguments: '{}' }),
    item({ type: 'function_call_output', call_id: 'c1', output: 'A' }),
    event('thread_rolled_back', { num_turns: 1 }),
    said('user', 'Third.'),
    event('user_message', { message: 'Third.' }),
  );
  expect(outline(read?.messages ?? [])).toEqual([
    { role: 'user', content: '<environment_context>' },
    { role: 'user', content: 'First.' },
    { role: 'assistant', content: 'One.' },
    { role: 'user', content: '<environment_context>' },
    { role: 'user', content: 'Third.' },
  ]);
  expect(read?.notes.at(-1)).toEqual({
    at: 'line 7',
    kind: 'left_out',
    what: 'messages that were taken back are not part of the conversation',
    count: 3,
  });
});

test('an import of a Codex rollout keeps the texts that other agents sent, and leaves out texts that are encrypted for the provider', () => {
  const [read] = readLines(
    { type: 'session_meta', payload: { id: 'r-3' } },
    item({
      type: 'agent_message',
      author: 'lead',
      recipient: 'worker',
      content: [
        { type: 'input_text', text: 'Look at a.ts.' },
        { type: 'encrypted_content', encrypted_content: 'xyz' },
      ],
    }),
    {
      type: 'inter_agent_communication',
      payload: { author: 'lead', recipient: 'worker', content: 'And b.ts.' },
    },
    item({
      type: 'agent_message',
      author: 'lead',
      content: [{ type: 'encrypted_content', encrypted_content: 'xyz' }],
    }),
    said('assistant', 'Done.'),
  );
  expect(outline(read?.messages ?? [])).toEqual([
    { role: 'user', content: 'lead: Look at a.ts.' },
    { role: 'user', content: 'lead: And b.ts.' },
    { role: 'assistant', content: 'Done.' },
  ]);
  expect(read?.notes.slice(1)).toMatchObject([
    { at: 'line 2.content[1]', kind: 'left_out', count: 2 },
    { at: 'line 2', kind: 'mapped', what: 'a message of another agent is kept as a user message', count: 2 },
  ]);
});

test('an import of a Codex rollout reads the messages behind a summary only if the file does not have the original messages', () => {
  const compacted = (history: readonly object[]): object => ({
    type: 'compacted',
    payload: { message: 'S', replacement_history: history },
  });
  const kept = { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Kept.' }] };
  const meta = { type: 'session_meta', payload: { id: 'r-4' } };
  const [fork] = readLines(meta, compacted([kept]), said('user', 'Next.'));
  expect(outline(fork?.messages ?? [])).toEqual([
    { role: 'user', content: 'Kept.' },
    { role: 'user', content: 'Next.' },
  ]);
  const [whole] = readLines(meta, said('user', 'First.'), compacted([kept]), said('user', 'Next.'));
  expect(outline(whole?.messages ?? [])).toEqual([
    { role: 'user', content: 'First.' },
    { role: 'user', content: 'Next.' },
  ]);
  expect(whole?.notes.at(-1)).toMatchObject({
    what: 'summaries of messages that are in the file are not part of the conversation',
  });
});

test('an import reads a Codex rollout of an old version, whose items have no `payload`', () => {
  const [read] = readLines({ id: 'r-0', timestamp: 't', instructions: null }, { record_type: 'state' }, ...ITEMS);
  expect(read).toMatchObject({ format: 'codex', id: 'r-0' });
  expect(outline(read?.messages ?? [])).toEqual(READ);
});

test('an import keeps a call item of an unknown type as a tool call, with all its fields as arguments', () => {
  const [read] = readDocument([
    { type: 'drone_call', call_id: 'd1', height: 3, place: 'yard' },
    { type: 'drone_call_output', call_id: 'd1', output: 'up' },
  ]);
  expect(outline(read?.messages ?? [])).toEqual([
    { role: 'assistant', content: '', calls: [['d1', 'drone', '{"height":3,"place":"yard"}']] },
    { role: 'tool', content: 'up', toolCallId: 'd1' },
  ]);
});

test('an import pairs a call item with its result item even if neither has a call id', () => {
  const search = { type: 'tool_search_call', call_id: null, execution: 'server', arguments: { paths: ['weather'] } };
  const found = { type: 'tool_search_output', call_id: null, execution: 'server', tools: [{ name: 'weather' }] };
  const [read] = readDocument([
    { ...search, id: 'tsc_1' },
    { ...found, id: 'tso_1' },
    { type: 'function_call', id: 'fc_1', call_id: 'c1', name: 'weather', arguments: '{}' },
    { type: 'function_call_output', id: 'fco_1', call_id: 'c1', output: '21' },
  ]);
  expect(read?.messages.map(({ role, toolCallId, toolCalls }) => [role, toolCallId ?? toolCalls?.[0]?.id])).toEqual([
    ['assistant', 'tsc_1'],
    ['tool', 'tsc_1'],
    ['assistant', 'c1'],
    ['tool', 'c1'],
  ]);
});

test('an import reads a program of the model that calls tools, with the result of the program', () => {
  const caller = { type: 'program', caller_id: 'p1' };
  const [read] = readDocument([
    { type: 'program', id: 'cm_1', call_id: 'p1', code: 'await tools.stock()', fingerprint: 'xyz' },
    { type: 'function_call', id: 'fc_1', call_id: 'c1', name: 'stock', arguments: '{}', caller },
    { type: 'function_call_output', call_id: 'c1', output: '7', caller },
    { type: 'program_output', id: 'po_1', call_id: 'p1', result: 'sum 7', status: 'completed' },
  ]);
  expect(outline(read?.messages ?? [])).toEqual([
    {
      role: 'assistant',
      content: '',
      calls: [
        ['p1', 'program', '{"code":"await tools.stock()"}'],
        ['c1', 'stock', '{}'],
      ],
    },
    { role: 'tool', content: '7', toolCallId: 'c1' },
    { role: 'tool', content: 'sum 7', toolCallId: 'p1' },
  ]);
});

test('an import refuses an item of an unknown type and names its index', () => {
  expect(() => readDocument([...ITEMS, { type: 'telepathy' }])).toThrow(
    /^\[18\]\.type: items of type telepathy are not known/,
  );
});

test('an import of a Codex rollout leaves out nothing for a rollback of zero turns', () => {
  const [read] = readLines(
    { type: 'session_meta', payload: { id: 'r-5' } },
    said('user', 'First.'),
    event('user_message', { message: 'First.' }),
    event('thread_rolled_back', { num_turns: 0 }),
  );
  expect(outline(read?.messages ?? [])).toEqual([{ role: 'user', content: 'First.' }]);
});
