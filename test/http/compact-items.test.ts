import { expect, test } from 'vitest';
import { compactApp } from '../../src/api/http/compact/compact-app.ts';

const USER = { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Fix the build of alpha-7.' }] };

async function compact(
  ...items: readonly object[]
): Promise<{ status: number; text: string; body: Record<string, unknown> }> {
  const app = compactApp({ authenticate: 'none' });
  const response = await app.request('/v1/responses/compact', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'structural', input: [USER, ...items] }),
  });
  const body = (await response.json()) as Record<string, unknown>;
  const output = (body['output'] ?? []) as { readonly type: string; readonly encrypted_content?: string }[];
  return {
    status: response.status,
    text: output.find(({ type }) => type === 'compaction')?.encrypted_content ?? '',
    body,
  };
}

function said(text: string): object {
  return { type: 'message', role: 'assistant', content: [{ type: 'output_text', text, annotations: [] }] };
}

test('a summary of Responses items names a custom tool and the file that it changed', async () => {
  const input = `*** Begin Patch\n*** Update File: src/m3.rs\n${'+let x = 1;\n'.repeat(200)}*** End Patch`;
  const { text } = await compact(
    { type: 'custom_tool_call', id: 'ctc_1', call_id: 'c9', name: 'apply_patch', input },
    { type: 'custom_tool_call_output', call_id: 'c9', output: 'Success. Updated src/m3.rs' },
    said('Patched.'),
  );
  expect(text).toContain('apply_patch');
  expect(text).toContain('src/m3.rs');
});

test('a summary of Responses items names calls of MCP servers, shells and searches', async () => {
  const { text } = await compact(
    {
      type: 'mcp_call',
      id: 'm1',
      server_label: 'gh',
      name: 'get_issue',
      arguments: '{"n":7}',
      output: 'broken since 3f2a91c',
    },
    { type: 'local_shell_call', call_id: 'l1', action: { type: 'exec', command: ['cargo', 'test', '-p', 'alpha-7'] } },
    { type: 'function_call_output', call_id: 'l1', output: 'test result: FAILED. 1 failed: m3::rounds' },
    {
      type: 'web_search_call',
      id: 'ws_1',
      status: 'completed',
      action: { type: 'search', query: 'E0502 borrow in loop' },
    },
    said('Read the issue and ran the tests.'),
  );
  expect(text).toContain('get_issue');
  expect(text).toContain('broken since 3f2a91c');
  expect(text).toMatch(/cargo.*test.*-p.*alpha-7/);
  expect(text).toContain('E0502 borrow in loop');
});

test('the compact route compacts items with a screenshot of a computer', async () => {
  const screenshot = { type: 'computer_screenshot', image_url: 'data:image/png;base64,AA==' };
  const { status, text } = await compact(
    { type: 'computer_call_output', call_id: 'cc1', output: screenshot },
    said('I see the login page.'),
  );
  expect(status).toBe(200);
  expect(text).toContain('login page');
});

test('the compact route keeps a call of any kind that waits for its output', async () => {
  const call = { type: 'custom_tool_call', call_id: 'c1', name: 'apply_patch', input: 'x' };
  const { body } = await compact(said('I patch.'), call);
  expect((body['output'] as object[]).at(-1)).toMatchObject(call);
});

test('the compact route refuses an item of an unknown type, and notes an item without content, by their indexes', async () => {
  const { status, body } = await compact(said('Yes.'), { type: 'telepathy' });
  expect(status).toBe(422);
  expect(JSON.stringify(body)).toContain('input[2].type: items of type telepathy are not known');
  const noted = await compact(said('Yes.'), { type: 'item_reference', id: 'x' });
  expect(noted.body['notes']).toMatchObject([{ at: 'input[2]', kind: 'left_out' }]);
});
