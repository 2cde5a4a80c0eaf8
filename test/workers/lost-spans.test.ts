import { SpanStatusCode } from '@opentelemetry/api';
import { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node';
import { beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { defineTool, type Tool } from '../../src/domain/agent.ts';
import type { Model } from '../../src/domain/model.ts';
import { TURN_LIMITS } from '../../src/domain/turn.ts';
import { scriptedModel } from '../../src/providers/scripted.ts';
import { createTraces } from '../../src/telemetry/traces.ts';
import { useProvider } from '../telemetry/registered-provider.ts';
import { Fixture, ref } from './turn/fixture.ts';
import { settleTasks } from './turn/manual-timers.ts';

const exporter = new InMemorySpanExporter();
const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
useProvider(provider);
beforeEach(() => exporter.reset());

const never = (): Promise<never> => new Promise<never>(() => {});

const tools = [
  defineTool({ name: 'hang', description: '', input: z.object({}), run: never }),
  defineTool({ name: 'break', description: '', input: z.object({}), run: () => Promise.reject(new Error('broken')) }),
] as Tool[];

const callOf = (name: string): Model =>
  scriptedModel({ steps: [{ answer: { toolCalls: [{ id: name, name, arguments: {} }] } }, { answer: {} }] });

async function openTraced(model: Model): Promise<Fixture> {
  const traces = createTraces();
  return Fixture.open({
    model,
    tools,
    wrap: (ports) => ({
      ...ports,
      tracing: traces.tracing,
      onEvent(event) {
        ports.onEvent(event);
        traces.listener(event);
      },
    }),
  });
}

/** Every ended span, with its `error.type` if it ended as an error. */
function listErrors(): [name: string, error: unknown][] {
  return exporter.getFinishedSpans().map(({ name, status, attributes }) => {
    const error = attributes['error.type'];
    expect(status.code === SpanStatusCode.ERROR, name).toBe(error !== undefined);
    return [name, error];
  });
}

test.each<[string, string, Model, string[]]>([
  ['canceled', 'a model call', scriptedModel({ decide: never }), ['chat scripted']],
  ['canceled', 'a tool call', callOf('hang'), ['chat scripted', 'execute_tool hang']],
  ['fenced', 'a model call', scriptedModel({ decide: never }), ['chat scripted']],
  ['fenced', 'a tool call', callOf('hang'), ['chat scripted', 'execute_tool hang']],
])(
  'the trace span of a turn that ends as %s in %s names the reason, and no child span is an error',
  async (why, _at, model, below) => {
    const world = await openTraced(model);
    await world.accept('t1', 'Hi');
    const delivered = world.deliver();
    await settleTasks();
    if (why === 'canceled') await world.store.cancel(ref, 't1', 'w');
    else {
      world.db.advance(TURN_LIMITS.leaseMs + 1);
      await world.store.claim(ref, 'another', 'w');
    }
    await world.timers.advance(2_000);
    expect(await delivered).toBe('lost');
    const told = why === 'canceled' ? undefined : 'lease_fenced';
    expect(listErrors()).toEqual([...below.map((name) => [name, undefined]), ['invoke_agent guide', told]]);
  },
);

test('the trace span of a model or tool call that failed while its worker owned the turn is an error', async () => {
  const world = await openTraced(callOf('break'));
  await world.accept('t1', 'Hi');
  await world.deliver();
  expect(listErrors()).toContainEqual(['execute_tool break', 'failed']);
});
