import { writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { KINDS, openTools, runTool, startServer } from './mcp/fixture.ts';

describe.each(KINDS)('an MCP server over %s that is killed', (kind) => {
  it(`a read-only call runs again over a new connection after its MCP server over ${kind} was killed`, async () => {
    await using server = await startServer(kind);
    await using opened = await openTools(server);
    const running = runTool(opened.tools, 'hang_once', { path: server.gate });
    await expect.poll(() => server.calls()).toHaveLength(1);
    await writeFile(server.gate, '');
    // A server over HTTP is away for a moment, so its call may fail. The next one finds the new server.
    await server.kill();
    await server.restart();
    const first = await running;
    const result = kind === 'stdio' ? first : await runTool(opened.tools, 'hang_once', { path: server.gate });
    expect(result).toEqual({ content: 'answered' });
    const keys = server.calls().map(({ key }) => key);
    expect(new Set(keys).size).toBe(1);
    expect(keys.length).toBeGreaterThan(1);
  });

  it(`a call that may have taken effect is not repeated after its MCP server over ${kind} was killed`, async () => {
    await using server = await startServer(kind);
    await using opened = await openTools(server);
    const running = runTool(opened.tools, 'hang');
    await expect.poll(() => server.calls()).toHaveLength(1);
    await server.kill();
    expect(await running).toMatchObject({
      content: expect.stringContaining('may have taken effect') as string,
      isError: true,
    });
    expect(server.calls()).toHaveLength(1);
  });

  it(`a call reaches the MCP server over ${kind} again after a restart between two calls`, async () => {
    await using server = await startServer(kind);
    await using opened = await openTools(server);
    await runTool(opened.tools, 'write', { path: 'a' });
    await server.kill();
    if (kind !== 'stdio') {
      expect(await runTool(opened.tools, 'write', { path: 'b' })).toMatchObject({ isError: true });
    }
    await server.restart();
    await expect.poll(() => runTool(opened.tools, 'write', { path: 'c' })).toEqual({ content: 'wrote c' });
  });
});
