import type { UIMessage } from 'ai';

type Part = { readonly type: string } & Readonly<Record<string, unknown>>;

interface ShownView {
  readonly id: string;
  readonly role: string;
  readonly metadata: unknown;
  readonly steps: readonly unknown[];
  readonly decisions: unknown;
  readonly data: unknown;
}

/**
 * Describes the messages of a page: all parts in their order, without times, and without steps that were taken back. Compactions, values
 * of tools and decisions are shown apart, because the moment at which they arrive is free.
 */
export function viewOf(messages: readonly UIMessage[], gate = ''): ShownView[] {
  const shown = messages.map(({ id, role, metadata, parts }) => viewMessage({ id, role, metadata, parts }));
  return gate === '' ? shown : (JSON.parse(JSON.stringify(shown).replaceAll(gate, 'GATE')) as ShownView[]);
}

interface Given {
  readonly id: string;
  readonly role: string;
  readonly metadata: unknown;
  readonly parts: readonly Part[];
}

function viewMessage({ id, role, metadata, parts }: Given): ShownView {
  const steps: Part[][] = [[]];
  for (const part of parts) {
    if (part.type === 'step-start') steps.push([]);
    else steps.at(-1)?.push(part);
  }
  const valid = steps.filter((step) => !step.some(({ type }) => type === 'data-restart'));
  const data = valid.flat().filter(({ type }) => type.startsWith('data-') && type !== 'data-steering');
  const { acceptedAt: _, settledAt: __, ...rest } = (metadata ?? {}) as Record<string, unknown>;
  return {
    id,
    role,
    metadata: rest,
    steps: valid.map((step) => step.flatMap(viewPart)).filter((step) => step.length > 0),
    decisions: data.flatMap(viewDecision),
    data: data
      .filter(({ type }) => type !== 'data-approval')
      .map((part) => [part.type, part['id'], part['data']])
      .toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)),
  };
}

function viewPart(part: Part): unknown[] {
  const { type, text, state, toolCallId, toolName, input, output, errorText, data } = part;
  if (type === 'text' || type === 'reasoning') return text === '' ? [] : [[type, text]];
  if (type === 'dynamic-tool') return [[toolName, toolCallId, state, input, output, errorText]];
  if (type === 'data-steering') return [[type, data]];
  return type === 'file' ? [[type, part['mediaType'], part['url'], part['filename']]] : [];
}

function viewDecision({ type, data }: Part): unknown[] {
  if (type !== 'data-approval') return [];
  const { toolCallId, decision } = data as { toolCallId: string; decision?: { approved?: boolean; by?: string } };
  return decision === undefined ? [] : [[toolCallId, decision.approved, decision.by]];
}
