import type { createDocument } from 'zod-openapi';
import { EVENT_STREAM } from './event-stream.ts';
import recorded from './examples.json' with { type: 'json' };

/** A request that a test sent to a served app, and the answer. Times, hashes and random ids are replaced. */
export interface RecordedExample {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** HTTP status of the answer. */
  readonly status: number;
  readonly answer?: unknown;
  /** The first event of each type, if the answer is a stream. */
  readonly events?: Readonly<Record<string, unknown>>;
}

type Document = ReturnType<typeof createDocument>;
type Operation = NonNullable<NonNullable<Document['paths']>[string]['get']>;
type Content = Record<string, { example?: unknown; examples?: Record<string, { value: unknown }> }>;

const examples: Readonly<Record<string, RecordedExample>> = recorded;

/** Adds the recorded requests and answers to the operations of a document. Changes the document. */
export function addExamples(document: Document): Document {
  for (const path of Object.values(document.paths ?? {})) {
    for (const method of ['get', 'post', 'delete'] as const) {
      const operation = path[method];
      const example = examples[operation?.operationId ?? ''];
      if (operation !== undefined && example !== undefined) addExample(operation, example);
    }
  }
  return document;
}

function addExample(operation: Operation, { params, query, headers, body, status, answer, events }: RecordedExample) {
  const given = { path: params, query, header: headers, cookie: undefined };
  for (const parameter of operation.parameters ?? []) {
    if (!('in' in parameter)) continue;
    const value = given[parameter.in as keyof typeof given]?.[parameter.name];
    if (value !== undefined) parameter.example = value;
  }
  const { requestBody } = operation;
  if (body !== undefined && requestBody !== undefined && 'content' in requestBody) {
    Object.assign(requestBody.content['application/json'] ?? {}, { example: body });
  }
  const responses: Record<string, { content?: Content } | undefined> = operation.responses ?? {};
  const { 'application/json': json, [EVENT_STREAM]: stream } = responses[String(status)]?.content ?? {};
  if (json !== undefined && answer !== undefined) json.example = answer;
  if (stream === undefined || events === undefined) return;
  stream.examples = Object.fromEntries(Object.entries(events).map(([type, value]) => [type, { value }]));
}
