import { SpanStatusCode, trace } from '@opentelemetry/api';
import {
  AlwaysOnSampler,
  InMemorySpanExporter,
  NodeTracerProvider,
  ParentBasedSampler,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-node';
import { beforeEach, describe, expect, test } from 'vitest';
import { TurnfoldError } from '../../src/domain/errors.ts';
import type { SpanSubject } from '../../src/domain/tracing.ts';
import { parseTraceParent, readCurrentTrace } from '../../src/telemetry/trace-parent.ts';
import { createTraces } from '../../src/telemetry/traces.ts';
import { useProvider } from './registered-provider.ts';
import { samples, scope } from './sample-events.ts';

const { turn, passId } = scope;
const conversation = { tenant: scope.tenant, id: scope.conversation };
const REQUESTER = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' };
const turnSpan = (more: Partial<Extract<SpanSubject, { kind: 'turn' }>> = {}): SpanSubject => ({
  kind: 'turn',
  conversation,
  turn,
  agent: 'guide',
  attempt: 1,
  ...more,
});
const call: SpanSubject = {
  kind: 'model_call',
  profile: { id: 'gpt-5', format: 'openai-responses' },
  isCompacted: true,
};

describe('without an SDK', () => {
  test('without an OpenTelemetry SDK, traced work runs, throws its errors and stores no traceparent', async () => {
    const { tracing, listener } = createTraces();
    const done = tracing.inSpan(turnSpan(), async () => {
      listener(samples.turn_settled);
      return tracing.current() ?? 'none';
    });
    expect(await done).toBe('none');
    await expect(tracing.inSpan(call, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  });
});

describe('with an SDK', () => {
  const exporter = new InMemorySpanExporter();
  const provider = new NodeTracerProvider({
    sampler: new ParentBasedSampler({ root: new AlwaysOnSampler() }),
    spanProcessors: [new SimpleSpanProcessor(exporter)],
  });
  // Before it is registered: a service's SDK may start after its workers.
  const traces = createTraces();
  const { tracing, listener } = traces;

  useProvider(provider);
  beforeEach(() => exporter.reset());

  const only = () => {
    const [span, ...others] = exporter.getFinishedSpans();
    expect(others).toEqual([]);
    if (span === undefined) throw new Error('no span has ended');
    return span;
  };

  test('a turn is a child of the span that requested it, even in another process', async () => {
    const traceParent = `00-${REQUESTER.traceId}-${REQUESTER.spanId}-01`;
    await tracing.inSpan(turnSpan({ traceParent }), async () => undefined);
    expect(only().spanContext().traceId).toBe(REQUESTER.traceId);
    expect(only().parentSpanContext).toMatchObject({ ...REQUESTER, isRemote: true });
  });

  test('a turn is not sampled if the span that requested it was not sampled', async () => {
    const traceParent = `00-${REQUESTER.traceId}-${REQUESTER.spanId}-00`;
    const below = await tracing.inSpan(turnSpan({ traceParent }), async () => tracing.current());
    expect(exporter.getFinishedSpans()).toEqual([]);
    expect(below, 'the flag travels on').toMatch(new RegExp(`^00-${REQUESTER.traceId}-[0-9a-f]{16}-00$`));
  });

  test.each([
    '',
    'nonsense',
    `00-${'0'.repeat(32)}-${REQUESTER.spanId}-01`,
    `00-${REQUESTER.traceId}-${'0'.repeat(16)}-01`,
  ])('a turn with the invalid traceparent %j starts a new trace', async (traceParent) => {
    expect(parseTraceParent(traceParent)).toBeUndefined();
    await tracing.inSpan(turnSpan({ traceParent, suspendedIn: traceParent }), async () => undefined);
    expect(only().parentSpanContext).toBeUndefined();
    expect(only().links).toEqual([]);
  });

  test('a turn is no child of the span that was active when its worker started', async () => {
    await trace.getTracer('service').startActiveSpan('start', async (span) => {
      await tracing.inSpan(turnSpan(), async () => undefined);
      span.end();
    });
    const [inner] = exporter.getFinishedSpans();
    expect(inner?.parentSpanContext).toBeUndefined();
  });

  test('the span of a model call has the ids of its turn, and its provider', async () => {
    await tracing.inSpan(turnSpan(), () => tracing.inSpan(call, async () => listener(samples.model_called)));
    const [made] = exporter.getFinishedSpans();
    expect(made?.name).toBe('chat gpt-5');
    expect(made?.attributes).toMatchObject({
      'gen_ai.provider.name': 'openai',
      'gen_ai.conversation.compacted': true,
      'gen_ai.conversation.id': conversation.id,
      'gen_ai.agent.name': 'guide',
      'turnfold.tenant': conversation.tenant,
      'turnfold.turn.id': turn,
      'turnfold.request.tokens': samples.model_called.tokens,
    });
  });

  test('the span of a call to a chain of models has the model that answered', async () => {
    const answered = { ...samples.model_called, model: 'gpt-5|gpt-4', answeredBy: 'gpt-4' };
    const failed = { ...samples.model_called, model: 'gpt-5|gpt-4', outcome: 'fatal' } as const;
    for (const event of [answered, failed]) await tracing.inSpan(call, async () => listener(event));
    const models = exporter.getFinishedSpans().map(({ attributes }) => attributes['gen_ai.response.model']);
    expect(models).toEqual(['gpt-4', undefined]);
  });

  test('the error type of a span is the code or name of its exception, and never the message', async () => {
    const thrown = [new TurnfoldError('redis_unavailable', 'private'), new RangeError('private')];
    for (const error of thrown) await tracing.inSpan(turnSpan(), () => Promise.reject(error)).catch(() => undefined);
    const spans = exporter.getFinishedSpans();
    expect(spans.map(({ attributes }) => attributes['error.type'])).toEqual(['redis_unavailable', 'RangeError']);
    expect(spans.every(({ status }) => status.code === SpanStatusCode.ERROR)).toBe(true);
    expect(JSON.stringify(spans.map(({ attributes, events, status }) => [attributes, events, status]))).not.toContain(
      'private',
    );
  });

  test('the error type of a span comes from the outcome of its event, even if an exception follows', async () => {
    const lost = tracing.inSpan(turnSpan(), async () => {
      listener(samples.lease_lost);
      throw new Error('lost');
    });
    await expect(lost).rejects.toThrow('lost');
    expect(only().attributes).toMatchObject({ 'error.type': 'lease_fenced', 'turnfold.outcome': 'lost' });
  });

  test('the span of a canceled turn is not marked as failed, even if its work throws', async () => {
    const lost = tracing.inSpan(turnSpan(), async () => {
      listener({ ...samples.lease_lost, why: 'canceled' });
      throw new Error('lost');
    });
    await expect(lost).rejects.toThrow('lost');
    expect(only().attributes).toMatchObject({ 'turnfold.outcome': 'canceled' });
    expect(only().attributes).not.toHaveProperty('error.type');
    expect(only().status.code).toBe(SpanStatusCode.UNSET);
  });

  test.each(Object.values(samples).map((event) => [event.type, event] as const))(
    'the worker event %s changes only spans of its own kind, and causes no error without a span',
    async (type, event) => {
      listener(event);
      await tracing.inSpan({ kind: 'tool_call', name: 'look', call: 'c2_0' }, async () => listener(event));
      const isChanged = Object.keys(only().attributes).includes('turnfold.outcome') || only().events.length > 0;
      expect(isChanged).toBe(type === 'tool_called');
    },
  );

  test('each kind of span has its own name', async () => {
    const kinds: readonly SpanSubject[] = [
      turnSpan(),
      call,
      { kind: 'tool_call', name: 'look', call: 'c2_0' },
      { kind: 'pass', conversation, passId, agent: 'guide', attempt: 2, reasons: ['ratio'] },
      { kind: 'summary', conversation, passId, sourceTokens: 600 },
    ];
    for (const about of kinds) await tracing.inSpan(about, async () => undefined);
    expect(exporter.getFinishedSpans().map(({ name }) => name)).toEqual([
      'invoke_agent guide',
      'chat gpt-5',
      'execute_tool look',
      'turnfold.pass',
      'turnfold.summarization',
    ]);
  });

  test('the active span is stored as a traceparent of 55 characters', async () => {
    const carried = await trace.getTracer('service').startActiveSpan('ask', async (span) => {
      span.end();
      return [readCurrentTrace(), span.spanContext()] as const;
    });
    const [parent, { traceId, spanId }] = carried;
    expect(parent).toBe(`00-${traceId}-${spanId}-01`);
    expect(parent).toHaveLength(55);
    expect(parseTraceParent(parent)).toMatchObject({ traceId, spanId, traceFlags: 1, isRemote: true });
  });
});
