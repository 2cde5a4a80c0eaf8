import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { openMcpTools } from '../../src/mcp.ts';
import { PIXEL } from '../fakes/contents.ts';
import { KINDS, openTools, runTool, startServer } from './mcp/fixture.ts';

describe.each(KINDS)('an MCP server over %s', (kind) => {
  it(`the tools of an MCP server over ${kind} have the schemas of the server, and its hints decide whether a call may run again`, async () => {
    await using server = await startServer(kind);
    await using opened = await openTools(server, {
      prefix: 'fs_',
      needsApproval: ({ annotations }) => annotations?.readOnlyHint !== true,
    });
    const facts = opened.tools.map(({ name, retry, needsApproval }) => [name, retry, needsApproval]);
    expect(facts).toEqual([
      ['fs_check', 'safe', true],
      ['fs_files_read', 'safe', false],
      ['fs_hang', 'never', true],
      ['fs_hang_once', 'safe', false],
      ['fs_picture', 'never', true],
      ['fs_refuse', 'never', true],
      ['fs_write', 'never', true],
    ]);
    const read = opened.tools[1];
    expect(read?.description).toBe('Reads a file.');
    expect(z.toJSONSchema(read?.input ?? z.never())).toMatchObject({
      type: 'object',
      properties: { path: { type: 'string' } },
      required: ['path'],
    });
  });

  it(`a call of an MCP tool over ${kind} has the idempotency key of its step, and its texts and images become the result`, async () => {
    await using server = await startServer(kind);
    await using opened = await openTools(server);
    const { tools } = opened;
    expect(await runTool(tools, 'files_read', { path: 'a.txt' })).toEqual({ content: 'contents of a.txt' });
    expect(server.calls()).toMatchObject([{ tool: 'files.read', key: 'c1/t1/c2_0' }]);
    expect(await runTool(tools, 'check')).toEqual({ content: '{"isGood":true}' });
    const progress: unknown[] = [];
    const shown = await runTool(tools, 'picture', {}, { progress: (given) => void progress.push(given) });
    expect(shown).toEqual({
      content: '',
      parts: [
        { type: 'text', text: 'A picture:' },
        { type: 'image', data: PIXEL, mediaType: 'image/png' },
        { type: 'text', text: '(an image of type image/png is not shown)' },
        { type: 'image', data: PIXEL, mediaType: 'image/png' },
        { type: 'text', text: '(the file file:///a/c.bin of type application/zip is not shown)' },
      ],
    });
    expect(progress).toEqual([{ done: 1, total: 2, text: 'drawing' }]);
  });

  it(`an error of an MCP tool over ${kind} becomes an error result for the model`, async () => {
    await using server = await startServer(kind);
    await using opened = await openTools(server);
    expect(await runTool(opened.tools, 'refuse')).toEqual({ content: 'no such file', isError: true });
    // The server checks the arguments.
    expect(await runTool(opened.tools, 'files_read', { path: 3 })).toMatchObject({
      content: expect.stringContaining('path') as string,
      isError: true,
    });
  });

  it(`a call of an MCP tool over ${kind} ends when its signal aborts, and is canceled at the server`, async () => {
    await using server = await startServer(kind);
    await using opened = await openTools(server);
    const stop = new AbortController();
    const running = runTool(opened.tools, 'hang', {}, { signal: stop.signal });
    await expect.poll(() => server.calls()).toHaveLength(1);
    stop.abort(new Error('the lease is lost'));
    await expect(running).rejects.toThrow('the lease is lost');
    await expect.poll(() => server.calls().at(-1)?.tool).toBe('canceled');
    expect(await runTool(opened.tools, 'files_read', { path: 'b' })).toEqual({ content: 'contents of b' });
  });

  it(`openMcpTools takes only the named tools of a server over ${kind}, and refuses an unknown name`, async () => {
    await using server = await startServer(kind);
    await using opened = await openTools(server, { only: ['write'] });
    expect(opened.tools.map(({ name }) => name)).toEqual(['write']);
    await expect(openTools(server, { only: ['delete'] })).rejects.toMatchObject({
      code: 'invalid_config',
      field: 'mcp.files',
    });
  });
});

describe('openMcpTools', () => {
  it('openMcpTools fails with invalid_config if the program of the server does not exist or speaks no MCP', async () => {
    const missing = openMcpTools({ name: 'gone', server: { command: '/no/such/program' } });
    await expect(missing).rejects.toMatchObject({ code: 'invalid_config', field: 'mcp.gone' });
    const silent = { command: process.execPath, args: ['-e', 'process.stdin.resume()'] };
    const mute = openMcpTools({ name: 'mute', server: silent, connectTimeoutMs: 300 });
    await expect(mute).rejects.toMatchObject({ code: 'invalid_config', field: 'mcp.mute' });
  });

  it('openMcpTools fails with invalid_config if nothing listens at the address', async () => {
    const away = openMcpTools({ name: 'away', server: { url: 'http://127.0.0.1:9/mcp' } });
    await expect(away).rejects.toMatchObject({ code: 'invalid_config', field: 'mcp.away' });
  });
});
