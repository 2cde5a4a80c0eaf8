import type { Waiting } from '../../../src/domain/turn.ts';

/** A part of a streamed turn, as in docs/reference/client.md. Other parts are ignored. */
export type TurnPart =
  | { readonly type: 'text' | 'reasoning'; readonly step: number; readonly piece: string }
  | { readonly type: 'tool-call-start'; readonly step: number; readonly call: string; readonly name: string }
  | { readonly type: 'tool-call-arguments'; readonly step: number; readonly call: string; readonly piece: string }
  | CallPart
  | ResultPart
  | SteeringPart
  | { readonly type: 'restart'; readonly step: number }
  | { readonly type: 'wait'; readonly waiting: Waiting }
  | CompactionPart
  | { readonly type: 'end' };

interface CallPart {
  readonly type: 'tool-call';
  readonly step: number;
  readonly call: string;
  readonly name: string;
  readonly arguments: string;
}

interface ResultPart {
  readonly type: 'tool-result';
  readonly step: number;
  readonly call: string;
  readonly content: string;
  readonly isError: boolean;
}

interface SteeringPart {
  readonly type: 'steering';
  readonly step: number;
  readonly turn: string;
  readonly seq: number;
  readonly content: string;
}

interface CompactionPart {
  readonly type: 'compaction';
  readonly version: number;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  readonly archived: number;
}

/** A tool call of a step. */
export interface ShownCall {
  readonly call: string;
  readonly name: string;
  readonly arguments: string;
  /** True until the step is recorded. */
  readonly isPreview: boolean;
  readonly result?: Pick<ResultPart, 'content' | 'isError'>;
}

/** A model step with its calls. */
export interface ShownStep {
  readonly kind: 'step';
  readonly step: number;
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly ShownCall[];
}

/** One item of a turn, in the order in which the turn went. */
export type ShownItem =
  | ShownStep
  | (Omit<SteeringPart, 'type'> & { readonly kind: 'steering' })
  | (Omit<CompactionPart, 'type'> & { readonly kind: 'compaction' })
  | { readonly kind: 'wait'; readonly waiting: Waiting };

/** Adds a part of the stream to what is shown. */
export function addPart(items: readonly ShownItem[], part: TurnPart): readonly ShownItem[] {
  switch (part.type) {
    case 'text':
      return changeStep(items, part.step, (step) => ({ ...step, text: step.text + part.piece }));
    case 'reasoning':
      return changeStep(items, part.step, (step) => ({ ...step, reasoning: step.reasoning + part.piece }));
    case 'tool-call-start':
    case 'tool-call-arguments':
    case 'tool-call':
    case 'tool-result':
      return changeStep(items, part.step, (step) => ({ ...step, calls: changeCall(step.calls, part) }));
    case 'restart':
      return items.filter((item) => !('step' in item) || item.step < part.step);
    case 'steering': {
      const { type: _, ...steering } = part;
      return [...items, { kind: 'steering', ...steering }];
    }
    case 'compaction': {
      const { type: _, ...compaction } = part;
      return [...items, { kind: 'compaction', ...compaction }];
    }
    case 'wait':
      return addWait(items, part.waiting);
    default:
      return items;
  }
}

/** A reader that connects again gets the present wait again. */
function addWait(items: readonly ShownItem[], waiting: Waiting): readonly ShownItem[] {
  const last = items.at(-1);
  const isKnown = last?.kind === 'wait' && last.waiting.step === waiting.step && last.waiting.since === waiting.since;
  return isKnown ? [...items.slice(0, -1), { kind: 'wait', waiting }] : [...items, { kind: 'wait', waiting }];
}

function changeStep(
  items: readonly ShownItem[],
  number: number,
  change: (step: ShownStep) => ShownStep,
): readonly ShownItem[] {
  const index = items.findLastIndex((item) => item.kind === 'step' && item.step === number);
  const step = items[index];
  if (step?.kind === 'step') return items.with(index, change(step));
  return [...items, change({ kind: 'step', step: number, text: '', reasoning: '', calls: [] })];
}

type PartOfCall = Extract<TurnPart, { readonly call: string }>;

function changeCall(calls: readonly ShownCall[], part: PartOfCall): readonly ShownCall[] {
  const index = calls.findIndex(({ call }) => call === part.call);
  const known = calls[index] ?? { call: part.call, name: '', arguments: '', isPreview: true };
  const changed = applyToCall(known, part);
  return index === -1 ? [...calls, changed] : calls.with(index, changed);
}

function applyToCall(known: ShownCall, part: PartOfCall): ShownCall {
  switch (part.type) {
    case 'tool-call-start':
      return { ...known, name: part.name };
    case 'tool-call-arguments':
      return { ...known, arguments: known.arguments + part.piece };
    case 'tool-call':
      return { ...known, name: part.name, arguments: part.arguments, isPreview: false };
    case 'tool-result':
      return { ...known, isPreview: false, result: { content: part.content, isError: part.isError } };
  }
}
