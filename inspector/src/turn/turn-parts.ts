import type { TurnPart as StreamedPart } from '../../../src/api/contract/turn-parts.ts';
import type { Waiting } from '../../../src/domain/turn.ts';

/**
 * Converts the parts of a turn's stream to the items that the page shows. `addPart` is pure. A page that connects again
 * keeps its items, and adds the parts that follow.
 *
 * A step shows previews of its calls while the model writes. `isPreview` is true until the step is recorded. `restart`
 * drops a step with all later ones, because the step runs again. Steering messages, waits and compactions stand between
 * the steps. A reader that connects again gets the present wait again, so an equal last wait is replaced. Parts of
 * other types are ignored.
 */
type WithoutId<Part> = Part extends unknown ? Omit<Part, 'id'> : never;

export type TurnPart = WithoutId<StreamedPart>;

type PartOf<Type extends TurnPart['type']> = Extract<TurnPart, { readonly type: Type }>;

export interface ShownCall {
  readonly call: string;
  readonly name: string;
  readonly arguments: string;
  readonly isPreview: boolean;
  /** Progress that the running tool reported last. */
  readonly progress?: Pick<PartOf<'progress'>, 'text' | 'done' | 'total'>;
  readonly result?: Pick<PartOf<'tool-result'>, 'content' | 'isError'>;
}

export interface ShownStep {
  readonly kind: 'step';
  readonly step: number;
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly ShownCall[];
}

export type ShownItem =
  | ShownStep
  | (Omit<PartOf<'steering'>, 'type'> & { readonly kind: 'steering' })
  | (Omit<PartOf<'compaction'>, 'type'> & { readonly kind: 'compaction' })
  | { readonly kind: 'wait'; readonly waiting: Waiting };

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
    case 'progress':
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

type PartOfCall = PartOf<'tool-call-start' | 'tool-call-arguments' | 'tool-call' | 'tool-result' | 'progress'>;

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
    case 'progress': {
      const { type: _, step: __, call: ___, ...progress } = part;
      return { ...known, progress };
    }
    case 'tool-result': {
      const { progress: _, ...called } = known;
      return { ...called, isPreview: false, result: { content: part.content, isError: part.isError } };
    }
  }
}
