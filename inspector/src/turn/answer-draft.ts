import type { Waiting } from '../../../src/domain/turn.ts';

export interface AnswerDraft {
  readonly approved?: boolean;
  readonly text: string;
  readonly isError: boolean;
}

export const EMPTY_DRAFT: AnswerDraft = { text: '', isError: false };

/** Answer to one tool call, in the form of the route. The hash names the call that the page shows. */
type CallAnswer = { readonly hash?: string } & (
  | { readonly content: string; readonly isError?: boolean }
  | { readonly approved: true }
  | { readonly approved: false; readonly why?: string }
);

export function answersOf(
  waiting: Pick<Waiting, 'for' | 'calls'>,
  drafts: ReadonlyMap<string, AnswerDraft>,
): Readonly<Record<string, CallAnswer>> {
  return Object.fromEntries(
    waiting.calls.flatMap(({ id, hash, decision }) => {
      const answer = decision ? undefined : answerOf(waiting.for, drafts.get(id) ?? EMPTY_DRAFT);
      return answer === undefined ? [] : [[id, { ...answer, ...(hash !== undefined && { hash }) }] as const];
    }),
  );
}

function answerOf(kind: Waiting['for'], { approved, text, isError }: AnswerDraft): CallAnswer | undefined {
  if (kind === 'tools') return text === '' ? undefined : { content: text, ...(isError && { isError }) };
  if (approved === undefined) return undefined;
  if (approved) return { approved };
  const why = text.trim();
  return { approved, ...(why !== '' && { why }) };
}
