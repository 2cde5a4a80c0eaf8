import { SpanKind, trace } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-node';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import type { AppendInput } from '../../src/api/client/index.ts';
import type { Agent } from '../../src/domain/agent.ts';
import { ModelError, type ModelRequest } from '../../src/domain/model.ts';
import { agentOf, countSteps, toolOf, words } from './agents.ts';
import { eventually, openFixture, settled } from './fixture.ts';
import { endOf, idOf, Spans, traceOf } from './spans.ts';

const RECORD = '## State\nriver stone garden window market';
const SECRET = 'sk-live-0123456789abcdefghij';

const spans = Spans.register();
const tracer = trace.getTracer('service');
const fixture = await openFixture();

afterEach(async () => {
  await fixture.closeWorkers();
  spans.reset();
});

afterAll(async () => {
  await fixture.close();
  await spans.provider.shutdown();
});

/** Enqueues from within a span of the service's own. */
async function enqueue(conversation: string, input = 'a private question'): Promise<ReadableSpan> {
  const span = await tracer.startActiveSpan('POST /ask', async (active) => {
    await fixture.enqueue(conversation, 't1', input);
    active.end();
    return active;
  });
  return span as unknown as ReadableSpan;
}

/** One call of a tool, then an answer. */
const looker = (run: () => Promise<string>, policy = {}): Agent =>
  agentOf({
    decide: (request) => ({
      ...(countSteps(request) === 0
        ? { content: 'private thoughts', toolCalls: [{ name: 'look', arguments: { at: 'private place' } }] }
        : { content: 'a private answer' }),
      usage: { inputTotal: 120, cachedInput: 100, output: 7, outputKept: 7 },
    }),
    tools: [toolOf('look', run)],
    policy,
  });

describe('the span of a turn', () => {
  it('the span of a turn is a child of the span that enqueued it, with its calls as children', async () => {
    const within: (string | undefined)[] = [];
    await fixture.startWorkers(
      looker(async () => {
        await tracer.startActiveSpan('GET /place', async (span) => span.end());
        within.push(trace.getActiveSpan()?.spanContext().spanId);
        return 'a private place';
      }),
    );
    const asked = await enqueue('s1');
    await settled(fixture, 's1', 't1');
    const found = await spans.of('s1', { 'invoke_agent guide': 1, 'chat scripted': 2, 'execute_tool look': 1 });
    const [turn] = found['invoke_agent guide'] ?? [];
    const [first, second] = found['chat scripted'] ?? [];
    const [call] = found['execute_tool look'] ?? [];
    const inner = spans.all.find(({ name }) => name === 'GET /place');
    expect(turn?.parentSpanContext?.spanId).toBe(idOf(asked));
    for (const span of [first, second, call]) expect(span?.parentSpanContext?.spanId).toBe(idOf(turn));
    expect(inner?.parentSpanContext?.spanId, "a client's own span in the tool").toBe(idOf(call));
    expect(within).toEqual([idOf(call)]);
    expect(new Set([turn, first, second, call, inner].map(traceOf))).toEqual(new Set([traceOf(asked)]));
    expect([turn?.kind, first?.kind, call?.kind]).toEqual([SpanKind.INTERNAL, SpanKind.CLIENT, SpanKind.INTERNAL]);
    const shared = {
      'gen_ai.conversation.id': 's1',
      'gen_ai.agent.name': 'guide',
      'turnfold.tenant': '_',
      'turnfold.turn.id': 't1',
    };
    expect(turn?.attributes).toEqual({
      ...shared,
      'gen_ai.operation.name': 'invoke_agent',
      'turnfold.attempt': 1,
      'turnfold.outcome': 'completed',
    });
    expect(first?.attributes).toMatchObject({
      ...shared,
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': '_OTHER',
      'gen_ai.request.model': 'scripted',
      'gen_ai.response.model': 'scripted',
      'gen_ai.usage.input_tokens': 120,
      'gen_ai.usage.output_tokens': 7,
      'gen_ai.usage.cache_read.input_tokens': 100,
      'turnfold.request.purpose': 'turn',
    });
    expect(first?.attributes).not.toHaveProperty(['gen_ai.conversation.compacted']);
    expect(call?.attributes).toEqual({
      ...shared,
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'look',
      'gen_ai.tool.type': 'function',
      'gen_ai.tool.call.id': 'c2_0',
      'turnfold.outcome': 'done',
    });
    expect(spans.text).not.toContain('private');
  });

  it('the span of a turn starts a new trace if its caller has no trace', async () => {
    await fixture.startWorkers(agentOf());
    await fixture.enqueue('s2', 't1', 'hello');
    const found = await spans.of('s2', { 'invoke_agent guide': 1, 'chat scripted': 1 });
    expect(found['invoke_agent guide']?.[0]?.parentSpanContext).toBeUndefined();
  });

  it('the span of a failed turn has the error code, like the span of the failed call', async () => {
    await fixture.startWorkers(agentOf({ decide: () => new ModelError('fatal', 'no: a private key') }));
    await enqueue('s3');
    await settled(fixture, 's3', 't1');
    const found = await spans.of('s3', { 'invoke_agent guide': 1, 'chat scripted': 1 });
    const [turn, call] = [found['invoke_agent guide']?.[0], found['chat scripted']?.[0]] as ReadableSpan[];
    expect(turn && endOf(turn)).toEqual({ isError: true, type: 'model_failed' });
    expect(call && endOf(call)).toEqual({ isError: true, type: 'fatal' });
    expect(spans.text).not.toContain('private');
  });

  it('a failed tool marks its own span as an error, and not the span of the turn', async () => {
    await fixture.startWorkers(
      looker(async () => {
        throw new Error('a private failure');
      }),
    );
    await enqueue('s4');
    await settled(fixture, 's4', 't1');
    const found = await spans.of('s4', { 'invoke_agent guide': 1, 'chat scripted': 2, 'execute_tool look': 1 });
    const [turn, call] = [found['invoke_agent guide']?.[0], found['execute_tool look']?.[0]] as ReadableSpan[];
    expect(turn && endOf(turn)).toEqual({ isError: false, type: undefined });
    expect(call && endOf(call)).toEqual({ isError: true, type: 'failed' });
    expect(spans.text).not.toContain('private');
  });

  it('a resumed turn stays in its trace, and links to the span before the suspension', async () => {
    let tries = 0;
    await fixture.startWorkers(
      agentOf({
        decide: () => {
          tries += 1;
          return tries === 1 ? new ModelError('retry', 'busy', { retryAt: Date.now() }) : { content: 'now' };
        },
      }),
    );
    const asked = await enqueue('s5');
    await settled(fixture, 's5', 't1');
    const found = await spans.of('s5', { 'invoke_agent guide': 2, 'chat scripted': 2 });
    const [first, second] = found['invoke_agent guide'] ?? [];
    expect(first?.attributes).toMatchObject({ 'turnfold.outcome': 'suspended', 'turnfold.waits_for': 'retry' });
    expect(first && endOf(first).isError).toBe(false);
    expect(first?.links).toEqual([]);
    expect(second?.links.map(({ context }) => context.spanId)).toEqual([idOf(first)]);
    expect([first, second].map((span) => span?.parentSpanContext?.spanId)).toEqual([idOf(asked), idOf(asked)]);
  });

  it('spans contain message texts only if the operator allows them, and never secrets', async () => {
    await fixture.startWorkers(
      looker(async () => `a private place {"password": "hunter2!"} ${SECRET}`),
      { tracesContent: true },
    );
    await enqueue('s6', `a private question with ${SECRET}`);
    await settled(fixture, 's6', 't1');
    const found = await spans.of('s6', { 'invoke_agent guide': 1, 'chat scripted': 2, 'execute_tool look': 1 });
    const [first] = found['chat scripted'] ?? [];
    const [call] = found['execute_tool look'] ?? [];
    const read = (name: string): unknown => JSON.parse(String(first?.attributes[name]));
    expect(read('gen_ai.system_instructions')).toEqual([{ type: 'text', content: 'You guide.' }]);
    expect(read('gen_ai.input.messages')).toEqual([
      { role: 'user', parts: [{ type: 'text', content: 'a private question with [redacted]' }] },
    ]);
    expect(read('gen_ai.output.messages')).toMatchObject([
      { role: 'assistant', parts: [{ content: 'private thoughts' }, { type: 'tool_call', name: 'look' }] },
    ]);
    expect(call?.attributes).toMatchObject({
      'gen_ai.tool.call.arguments': '{"at":"private place"}',
      'gen_ai.tool.call.result': expect.stringContaining('a private place'),
    });
    expect(spans.text).not.toMatch(/hunter2|0123456789abcdefghij/);
  });
});

/** An append also requests an evaluation, which is not a pass of this test. */
async function append(conversation: string, messages: AppendInput['messages']): Promise<void> {
  await fixture.client.append({ conversation, agent: 'guide', messages });
  await spans.of(conversation, { 'turnfold.pass': 1 });
  spans.reset();
}

describe('the span of a pass', () => {
  it('the span of a pass is a child of the turn that requested it, with its jobs and calls as children', async () => {
    const policy = { messageThreshold: 8, retentionWindow: 2, summarizer: { models: ['scripted'] } };
    const usage = { inputTotal: 900, output: 20, outputKept: 0 };
    const decide = ({ idempotencyKey }: ModelRequest) => ({
      content: RECORD,
      ...(idempotencyKey.startsWith('summary') && { usage }),
    });
    const part = [
      { role: 'user' as const, content: words(10) },
      { role: 'assistant' as const, content: words(400) },
      { role: 'assistant' as const, content: words(400) },
    ];
    await fixture.startWorkers(agentOf({ decide, policy }));
    // Six messages are below the threshold. The turn adds two and reaches the threshold.
    await append('p1', [...part, ...part]);
    const asked = await enqueue('p1', words(400));
    await settled(fixture, 'p1', 't1');
    const counts = { 'invoke_agent guide': 1, 'turnfold.pass': 2, 'turnfold.summarization': 2 };
    await fixture.untilCompacted('p1');
    const found = await spans.of('p1', { ...counts, 'chat scripted': 3 });
    const [turn] = found['invoke_agent guide'] ?? [];
    const [planned, ended] = found['turnfold.pass'] ?? [];
    const children = found['turnfold.summarization'] ?? [];
    const calls = (found['chat scripted'] ?? []).filter(
      ({ attributes }) => attributes['turnfold.request.purpose'] === 'summary',
    );
    expect([planned, ended].map((span) => span?.parentSpanContext?.spanId)).toEqual([idOf(turn), idOf(turn)]);
    expect(children.map((child) => child.parentSpanContext?.spanId)).toEqual([idOf(planned), idOf(planned)]);
    expect(new Set(calls.map((call) => call.parentSpanContext?.spanId))).toEqual(new Set(children.map(idOf)));
    const all = [turn, planned, ended, ...children, ...calls];
    expect(new Set(all.map(traceOf))).toEqual(new Set([traceOf(asked)]));
    expect(turn?.events.map(({ name }) => name)).toEqual(['turnfold.pass_requested']);
    expect(planned?.attributes).toMatchObject({
      'gen_ai.conversation.id': 'p1',
      'gen_ai.agent.name': 'guide',
      'turnfold.pass.reasons': ['message_threshold'],
      'turnfold.outcome': 'fanned_out',
      'turnfold.pass.jobs': 2,
    });
    expect(ended?.attributes).toMatchObject({
      'turnfold.outcome': 'committed',
      'turnfold.pass.strategy': 'summarize',
      'turnfold.pass.version': 1,
      'turnfold.pass.sequences': 2,
      'turnfold.pass.id': planned?.attributes['turnfold.pass.id'],
    });
    expect(children.map(({ attributes }) => attributes['turnfold.outcome'])).toEqual(['written', 'written']);
    expect(calls[0]?.attributes).toMatchObject({ 'gen_ai.usage.input_tokens': 900, 'gen_ai.operation.name': 'chat' });
    expect(all.every((span) => span !== undefined && !endOf(span).isError)).toBe(true);
    expect(spans.text).not.toMatch(/word|private/);
  });

  it('the spans of model calls have an attribute that is true if the context was compacted', async () => {
    await fixture.startWorkers(agentOf({ policy: { maxTokens: 2_000 } }));
    const said = { role: 'assistant' as const, content: words(400) };
    const messages = [{ role: 'user' as const, content: 'hello' }, said, said, said, said, said, said, said, said];
    await append('p2', messages);
    const passId = await tracer.startActiveSpan('POST /compact', async (span) => {
      const id = await fixture.client.compact('p2');
      span.end();
      return id;
    });
    const state = await eventually(
      () => fixture.client.describe('p2'),
      (seen) => expect(seen.passId).toBeUndefined(),
    );
    expect(state.size.version).toBe(1);
    await enqueue('p2');
    await settled(fixture, 'p2', 't1');
    const compact = spans.all.find(({ name }) => name === 'POST /compact');
    const pass = spans.all.filter(({ attributes }) => attributes['turnfold.pass.id'] === passId);
    expect(pass.find(({ name }) => name === 'turnfold.pass')?.parentSpanContext?.spanId).toBe(idOf(compact));
    const call = await eventually(
      () =>
        spans.all.find(({ name, attributes }) => name === 'chat scripted' && attributes['turnfold.turn.id'] === 't1'),
      (seen) => expect(seen).toBeDefined(),
    );
    expect(call?.attributes['gen_ai.conversation.compacted']).toBe(true);
  });
});
