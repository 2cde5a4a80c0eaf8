import * as fc from 'fast-check';
import type { TurnPart, TurnView } from '../../src/api/client/index.ts';

type Body<Part = TurnPart> = Part extends TurnPart ? Omit<Part, 'id'> : never;

interface Step {
  readonly voids: readonly string[][];
  readonly reasoning: string;
  readonly text: readonly string[];
  readonly calls: number;
  /** Does the reader see pieces of the calls before the calls are complete? */
  readonly hasPreviews: boolean;
  readonly failed: boolean;
  readonly wait: 'none' | 'compaction' | 'approval' | 'tools';
  readonly compacts: boolean;
  readonly isSteered: boolean;
  /** Do the tools report progress and values? */
  readonly isNoted: boolean;
}

const word = fc.constantFrom('a', 'It is ', '😀', '\n', '{"x":', '[1]', 'data: ');
const stepArbitrary: fc.Arbitrary<Step> = fc.record({
  voids: fc.array(fc.array(word, { minLength: 1, maxLength: 3 }), { maxLength: 2 }),
  reasoning: fc.constantFrom('', 'hm'),
  text: fc.array(word, { maxLength: 4 }),
  calls: fc.nat({ max: 2 }),
  hasPreviews: fc.boolean(),
  failed: fc.boolean(),
  wait: fc.constantFrom('none', 'compaction', 'approval', 'tools'),
  compacts: fc.boolean(),
  isSteered: fc.boolean(),
  isNoted: fc.boolean(),
});

const endArbitrary = fc.constantFrom('completed' as const, 'failed' as const, 'canceled' as const);

/** The parts of a turn, as a reader may get them, and the messages that the log then has. */
export interface LegalTurn {
  readonly parts: readonly TurnPart[];
  readonly texts: readonly string[];
  readonly calls: readonly { readonly id: string; readonly arguments: string; readonly content: string }[];
  readonly end: 'completed' | 'failed' | 'canceled';
}

export const legalTurns: fc.Arbitrary<LegalTurn> = fc
  .tuple(fc.array(stepArbitrary, { minLength: 1, maxLength: 4 }), endArbitrary)
  .map(([steps, end]) => writeTurn(steps, end));

function writeTurn(steps: readonly Step[], end: LegalTurn['end']): LegalTurn {
  const parts: Body[] = [];
  const calls: { id: string; arguments: string; content: string }[] = [];
  for (const [index, step] of steps.entries()) {
    const isLast = index === steps.length - 1;
    calls.push(...writeStep(parts, isLast ? { ...step, calls: 0 } : { ...step, calls: step.calls + 1 }, index + 1));
  }
  parts.push({ type: 'end', view: viewOf(end) });
  return {
    parts: parts.map((part, index) => ({ ...part, id: String(index) })),
    texts: steps.map(({ text }) => text.join('')),
    calls,
    end,
  };
}

function writeStep(parts: Body[], step: Step, number: number) {
  const seq = number * 10;
  const calls = Array.from({ length: step.calls }, (_, index) => ({
    id: `c${seq}_${index}`,
    name: 'look',
    arguments: '{"at": 1}',
    content: `seen ${index}`,
  }));
  const preview = (): void => {
    for (const { id: call, name } of calls) {
      parts.push({ type: 'tool-call-start', step: number, call, name });
      parts.push({ type: 'tool-call-arguments', step: number, call, piece: '{"at"' });
    }
  };
  if (step.compacts) {
    parts.push({ type: 'compaction', version: number, tokensBefore: 90, tokensAfter: 9, archived: 3 });
  }
  if (step.wait === 'compaction') parts.push(waitFor('compaction', []));
  for (const pieces of step.voids) {
    for (const piece of pieces) parts.push({ type: 'text', step: number, piece });
    if (step.hasPreviews) preview();
    parts.push({ type: 'restart', step: number });
  }
  if (step.reasoning !== '') parts.push({ type: 'reasoning', step: number, piece: step.reasoning });
  for (const piece of step.text) parts.push({ type: 'text', step: number, piece });
  if (step.hasPreviews) preview();
  for (const { id: call, name, arguments: written } of calls) {
    parts.push({ type: 'tool-call', step: number, call, name, arguments: written });
  }
  if (calls.length > 0 && (step.wait === 'approval' || step.wait === 'tools')) parts.push(waitFor(step.wait, calls));
  for (const { id: call } of step.isNoted ? calls : []) {
    parts.push({ type: 'progress', step: number, call, text: 'half' });
    parts.push({ type: 'data', step: number, call, name: 'chart', data: [1] });
  }
  for (const { id: call, content } of calls) {
    parts.push({ type: 'tool-result', step: number, call, content, isError: step.failed });
  }
  if (step.isSteered && calls.length > 0) {
    parts.push({ type: 'steering', step: number, turn: 's1', seq: seq + 9, content: 'and this' });
  }
  return calls;
}

function waitFor(
  kind: 'compaction' | 'approval' | 'tools',
  calls: readonly { id: string; name: string; arguments: string }[],
): Body {
  const waiting = { for: kind, step: 's', since: 1, until: 2, calls: calls.map((call) => ({ ...call, until: 2 })) };
  return { type: 'wait', waiting };
}

function viewOf(state: LegalTurn['end']): TurnView {
  const facts = {
    turn: 't1',
    agent: 'a',
    acceptedAt: 1,
    settledAt: 2,
    requestTokens: [],
    usage: { inputTokens: 7, outputTokens: 3 },
  };
  switch (state) {
    case 'completed':
      return { ...facts, state, answer: { seq: 1, content: '' } };
    case 'failed':
      return { ...facts, state, failure: { code: 'poison', message: 'it died' } };
    case 'canceled':
      return { ...facts, state };
  }
}
