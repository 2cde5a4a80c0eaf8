import { writeFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { defineAgent, scriptedModel } from '../../src/index.ts';
import { openFixture, settled } from '../runtime/fixture.ts';
import { openTools, startServer } from './mcp/fixture.ts';

/** Calls the tool once, and then repeats its result. */
function modelThatCalls(name: string, given: Readonly<Record<string, string>>) {
  return scriptedModel({
    decide: ({ messages }) => {
      const last = messages.at(-1);
      return last?.role === 'tool'
        ? { content: `${last.isError === true ? 'error' : 'done'}: ${last.content}` }
        : { content: '', toolCalls: [{ name, arguments: given }] };
    },
  });
}

it('a turn calls a tool of an MCP server through Redis, with the idempotency key of its step', async () => {
  await using server = await startServer('stdio');
  await using opened = await openTools(server);
  const fixture = await openFixture();
  try {
    const model = modelThatCalls('files_read', { path: 'a.txt' });
    await fixture.startWorkers(
      defineAgent({ name: 'guide', system: 'Read.', model, tools: [...opened.tools], policy: {} }),
    );
    await fixture.enqueue('c1', 't1', 'Read a.txt');
    expect(await settled(fixture, 'c1', 't1')).toMatchObject({
      state: 'completed',
      answer: { content: 'done: contents of a.txt' },
    });
    const [call] = server.calls();
    expect(call?.key).toContain('c1');
  } finally {
    await fixture.close();
  }
});

it('a turn continues with an error result after its MCP server was killed in the middle of a call', async () => {
  await using server = await startServer('http');
  await using opened = await openTools(server);
  const fixture = await openFixture();
  try {
    const model = modelThatCalls('hang', {});
    await fixture.startWorkers(
      defineAgent({ name: 'guide', system: 'Wait.', model, tools: [...opened.tools], policy: {} }),
    );
    await fixture.enqueue('c1', 't1', 'Wait');
    await expect.poll(() => server.calls()).toHaveLength(1);
    await server.kill();
    const view = await settled(fixture, 'c1', 't1');
    expect(view).toMatchObject({ state: 'completed' });
    expect(view.answer?.content).toMatch(
      /^error: failed: the MCP server "files" is away: .+ The call may have taken effect/,
    );
    // The worker lives, and answers the next turn although the server is still away.
    await fixture.enqueue('c1', 't2', 'Again');
    expect((await settled(fixture, 'c1', 't2')).answer?.content).toMatch(/^error: /);
  } finally {
    await fixture.close();
  }
});

it('a turn whose MCP server died in a read-only call gets the result from the restarted server', async () => {
  await using server = await startServer('stdio');
  await using opened = await openTools(server);
  const fixture = await openFixture();
  try {
    const model = modelThatCalls('hang_once', { path: server.gate });
    await fixture.startWorkers(
      defineAgent({ name: 'guide', system: 'Read.', model, tools: [...opened.tools], policy: {} }),
    );
    await fixture.enqueue('c1', 't1', 'Read');
    await expect.poll(() => server.calls()).toHaveLength(1);
    await writeFile(server.gate, '');
    await server.kill();
    expect(await settled(fixture, 'c1', 't1')).toMatchObject({
      state: 'completed',
      answer: { content: 'done: answered' },
    });
    const [first, second] = server.calls();
    expect(second?.key).toBe(first?.key);
  } finally {
    await fixture.close();
  }
});
