import type { WrittenBody } from './json.ts';
import type { Breach, RuleContext } from './rule.ts';

/** Index into a view's messages. */
export type Position = number;
/** Where a text stands that is no message: Anthropic's `system`, Responses' `instructions`. */
export const NO_POSITION: Position = -1;

export type Author = 'system' | 'user' | 'assistant' | 'result';

/** One message of a body, or one item where the format has items. */
export interface ViewedMessage {
  readonly path: string;
  readonly author: Author;
  /** of an assistant's: where its answer begins. One answer is one message, or a run of items */
  readonly answer?: Position;
  /** a compaction of the provider's own, which stands for all that came before it, the user's first message included */
  readonly isCompaction?: boolean;
}

export interface ViewedCall {
  readonly path: string;
  readonly id: string;
  readonly position: Position;
  /** the answer that made it, as its messages name it: its calls are one parallel batch */
  readonly answer: Position;
  /** absent: made by a tool of the provider's that no request describes */
  readonly name?: string;
  /** of the current tool loop, whose thinking would not survive another tool: any that is described will do */
  readonly mayBeUndescribed?: boolean;
  /** parsed where the format sends text; undefined where that is no JSON. Absent: free text by its kind */
  readonly input?: unknown;
}

export interface ViewedTool {
  readonly path: string;
  readonly name: string;
}

export interface ViewedResult {
  readonly path: string;
  readonly callId: string;
  readonly position: Position;
}

export interface ViewedText {
  readonly path: string;
  readonly text: string;
  readonly position: Position;
}

/** What every format's requests have in common: the rules for all formats (X…) are written over this, once. */
export interface BodyView {
  readonly body: unknown;
  /** the body as it is sent; undefined where it cannot be written */
  readonly written: WrittenBody | undefined;
  readonly messages: readonly ViewedMessage[];
  readonly calls: readonly ViewedCall[];
  readonly results: readonly ViewedResult[];
  /** what a model reads, thinking aside */
  readonly texts: readonly ViewedText[];
  /** paths of lists that hold nothing and may not */
  readonly emptyLists: readonly string[];
  /** the tools that the request describes, by name */
  readonly tools: readonly ViewedTool[];
  /** of a call's id, in characters; absent: none that is known */
  readonly maxIdLength?: number;
  /** of a tool's name, in characters; absent: none that is known */
  readonly maxNameLength?: number;
  /** most that one request may have; absent: no number that is known */
  readonly maxTools?: number;
  readonly maxMessages?: number;
  /** what does not have the format's form, and is not in the rest of the view */
  readonly malformed: readonly Breach[];
}

/** The calls that a probed body may leave without a result: those of the last answer that have none anywhere. */
export function findOpenable(
  { messages, calls, results }: BodyView,
  { isProbed }: RuleContext,
): ReadonlySet<ViewedCall> {
  if (isProbed !== true) return new Set();
  const last = messages.findLast(({ author }) => author === 'assistant');
  const answered = new Set(results.map(({ callId }) => callId));
  return new Set(calls.filter(({ answer, id }) => answer === last?.answer && !answered.has(id)));
}
