import assert from 'node:assert/strict';
import { type Attributes, SpanStatusCode } from '@opentelemetry/api';
import {
  InMemorySpanExporter,
  NodeTracerProvider,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-node';
import { eventually } from './fixture.ts';

/** Spans as a backend would get them, by OpenTelemetry's own SDK: registered as a service registers it. */
export class Spans {
  readonly #exporter = new InMemorySpanExporter();
  readonly provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(this.#exporter)] });

  static register(): Spans {
    const spans = new Spans();
    spans.provider.register();
    return spans;
  }

  get all(): ReadableSpan[] {
    return this.#exporter.getFinishedSpans();
  }

  reset(): void {
    this.#exporter.reset();
  }

  /** Ended spans of a conversation by name, oldest first, once there are enough. */
  async of(conversation: string, counts: Readonly<Record<string, number>>): Promise<Record<string, ReadableSpan[]>> {
    return await eventually(
      () => {
        const found = this.all.filter(({ attributes }) => attributes['gen_ai.conversation.id'] === conversation);
        return Object.groupBy(found.toSorted(byStart), ({ name }) => name) as Record<string, ReadableSpan[]>;
      },
      (byName) => assert.deepEqual(countEach(byName), counts),
    );
  }

  /** Everything that was exported, as text: what must not be in it is looked for here. */
  get text(): string {
    return JSON.stringify(
      this.all.map(({ name, attributes, events, status, links }) => ({ name, attributes, events, status, links })),
    );
  }
}

function countEach(byName: Readonly<Record<string, readonly ReadableSpan[]>>): Record<string, number> {
  return Object.fromEntries(Object.entries(byName).map(([name, { length }]) => [name, length]));
}

export function idOf(span: ReadableSpan | undefined): string | undefined {
  return span?.spanContext().spanId;
}

export function traceOf(span: ReadableSpan | undefined): string | undefined {
  return span?.spanContext().traceId;
}

/** Fields of a span's end that tests compare. */
export function endOf({ status, attributes }: ReadableSpan): { isError: boolean; type: Attributes[string] } {
  return { isError: status.code === SpanStatusCode.ERROR, type: attributes['error.type'] };
}

function byStart(a: ReadableSpan, b: ReadableSpan): number {
  return a.startTime[0] - b.startTime[0] || a.startTime[1] - b.startTime[1];
}
