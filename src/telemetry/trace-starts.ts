import { type Attributes, SpanKind } from '@opentelemetry/api';
import type { SpanSubject } from '../domain/ports/tracing.ts';
import { GEN_AI, OTHER_PROVIDER, PROVIDERS, SPAN_NAMES, TURNFOLD } from './trace-names.ts';

type TracedOf<Kind extends SpanSubject['kind']> = Extract<SpanSubject, { kind: Kind }>;

export interface SpanStart {
  readonly name: string;
  readonly kind: SpanKind;
  /** its own */
  readonly attributes: Attributes;
  /** that the spans below it have as well */
  readonly shared?: Attributes;
}

type Starts = { readonly [Kind in SpanSubject['kind']]: (about: TracedOf<Kind>) => SpanStart };

/** How each kind of span begins. Names hold no ids: they are few. */
const STARTS: Starts = {
  turn: ({ conversation, turn, agent, attempt }) => ({
    name: `${SPAN_NAMES.turn} ${agent}`,
    kind: SpanKind.INTERNAL,
    attributes: { [GEN_AI.operation]: SPAN_NAMES.turn, [TURNFOLD.attempt]: attempt },
    shared: { ...describeConversation(conversation), [GEN_AI.agent]: agent, [TURNFOLD.turn]: turn },
  }),
  model_call: ({ profile: { id, format }, maxOutputTokens, isCompacted }) => ({
    name: `${SPAN_NAMES.model_call} ${id}`,
    kind: SpanKind.CLIENT,
    attributes: {
      [GEN_AI.operation]: SPAN_NAMES.model_call,
      [GEN_AI.provider]: format === undefined ? OTHER_PROVIDER : PROVIDERS[format],
      [GEN_AI.requestModel]: id,
      [GEN_AI.maxOutputTokens]: maxOutputTokens,
      [GEN_AI.isCompacted]: isCompacted || undefined,
    },
  }),
  tool_call: ({ name, call }) => ({
    name: `${SPAN_NAMES.tool_call} ${name}`,
    kind: SpanKind.INTERNAL,
    attributes: {
      [GEN_AI.operation]: SPAN_NAMES.tool_call,
      [GEN_AI.tool]: name,
      [GEN_AI.toolType]: 'function',
      [GEN_AI.toolCall]: call,
    },
  }),
  pass: ({ conversation, passId, agent, attempt, reasons }) => ({
    name: SPAN_NAMES.pass,
    kind: SpanKind.CONSUMER,
    attributes: { [TURNFOLD.attempt]: attempt, [TURNFOLD.reasons]: [...reasons] },
    shared: { ...describeConversation(conversation), [GEN_AI.agent]: agent, [TURNFOLD.pass]: passId },
  }),
  summary: ({ conversation, passId, sourceTokens }) => ({
    name: SPAN_NAMES.summary,
    kind: SpanKind.CONSUMER,
    attributes: { [TURNFOLD.sourceTokens]: sourceTokens },
    shared: { ...describeConversation(conversation), [TURNFOLD.pass]: passId },
  }),
};

export function describeStart(about: SpanSubject): SpanStart {
  // The table pairs each entry with its own kind, which an index by the union cannot express.
  const describe = STARTS[about.kind] as (about: SpanSubject) => SpanStart;
  return describe(about);
}

function describeConversation({ tenant, id }: TracedOf<'turn'>['conversation']): Attributes {
  return { [GEN_AI.conversation]: id, [TURNFOLD.tenant]: tenant };
}
