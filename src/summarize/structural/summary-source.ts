import { type AlikeLines, findAlikeLines } from '../../compaction/evidence/alike-lines.ts';
import { type Fragment, type Ledger, readLedger } from '../../compaction/evidence/ledger.ts';
import { valueTerms } from '../../compaction/evidence/use-probability.ts';
import { forEachInSlices, type Interruptible } from '../../domain/interruptible.ts';
import type { Message } from '../../domain/message.ts';
import { MAX_READ_MESSAGES, type SummaryRequest } from '../../domain/summarizer.ts';
import { type LogProgress, readLogProgress } from '../progress/progress.ts';
import { type CallPlaces, isBesideCall, placeCalls } from './call-places.ts';
import { estimateTokens } from './line-tokens.ts';
import { findStale } from './stale-lines.ts';

/** Fragments from which a summary is chosen, by their indexes in the ledger. */
export interface SummarySource {
  readonly ledger: Ledger;
  /** The user's request, the messages to summarize, and later messages. */
  readonly messages: readonly Message[];
  /** Log number (seq) of the first message, assuming that the numbers have no gaps. An old summary takes one number. */
  readonly firstSeq: number;
  readonly values: Float64Array;
  /** Tokens of each fragment, estimated until the fragment is counted. */
  readonly tokens: Float64Array;
  /** Fragments that stay in the context beside the summary. */
  readonly shown: readonly number[];
  readonly isOpen: Uint8Array;
  /** Index of the last fragment to summarize, or −1. */
  readonly newest: number;
  readonly calls: CallPlaces;
  /** Progress of the messages to summarize, without what later messages changed again. */
  readonly progress: LogProgress;
  /** Index behind the last message to summarize. */
  readonly end: number;
  readonly alike: ReadonlyMap<number, AlikeLines>;
  /** How often a line was said, by the index of its last fragment. */
  readonly repeated: ReadonlyMap<number, number>;
}

/** Tags of turnfold around a summary and around copied words of users. */
const FRAME = /^<\/?(?:summary|users)\b[^<>]*>$/;

type SourceRequest = Pick<
  SummaryRequest,
  'range' | 'messages' | 'older' | 'later' | 'keptLater' | 'userTexts' | 'userRequest'
>;

export function* readSource(request: SourceRequest): Interruptible<SummarySource> {
  const { range, userRequest, userTexts = '', later = [], keptLater = 0 } = request;
  const messages = chooseMessages(request);
  const skipped = request.messages.length - messages.length;
  const before: Message[] = userRequest === undefined ? [] : [{ role: 'user', content: userRequest }];
  const all = [...before, ...messages, ...later];
  const [start, end] = [before.length, before.length + messages.length];
  const firstKept = all.length - Math.min(keptLater, later.length);
  const ledger = yield* readLedger(all);
  const { fragments, superseded } = ledger;
  yield;
  const values = yield* valueTerms(ledger);
  const mayStay = (message: number): boolean => message < end || message >= firstKept;
  const { stale, repeated } = yield* findStale({ messages: all, fragments, mayStay });
  const isShown = (fragment: Fragment): boolean =>
    fragment.message < start ||
    fragment.message >= firstKept ||
    (fragment.part === 'user' && isCopied(fragment, all[fragment.message], userTexts));
  const mayChoose = ({ message, part, text }: Fragment): boolean =>
    message < end && !(part === 'result' && superseded.has(message)) && !FRAME.test(text.trim());
  const progress = yield* readLogProgress(all, end);
  const staleMessages = new Set(fragments.flatMap(({ message }, index) => (stale[index] === 1 ? [message] : [])));
  const calls = placeCalls(ledger, progress.calls, {
    messages: all,
    isStale: (message) => superseded.has(message) || staleMessages.has(message),
  });
  const tokens = new Float64Array(fragments.length);
  const isOpen = new Uint8Array(fragments.length);
  const shown: number[] = [];
  yield* forEachInSlices(fragments, (fragment, index) => {
    tokens[index] = estimateTokens(fragment.text) + 1;
    if (isShown(fragment)) shown.push(index);
    else if (stale[index] === 0 && mayChoose(fragment) && !isBesideCall(calls, fragment)) isOpen[index] = 1;
  });
  for (const [head, { made, outcome }] of calls.placed) {
    if (made.isRepeated) isOpen[head] = 0;
    if (outcome !== undefined) tokens[head] = (tokens[head] as number) + estimateTokens(outcome.text) + 1;
  }
  openOwners(fragments, shown, isOpen);
  return {
    ledger,
    messages: all,
    firstSeq: range.from + skipped - start,
    values,
    tokens,
    shown: shown.filter((index) => isOpen[index] === 0),
    isOpen,
    newest: fragments.findLastIndex(({ message, text }) => message >= start && message < end && text.trim() !== ''),
    calls,
    progress,
    end,
    repeated,
    alike: yield* findAlikeLines(fragments),
  };
}

/** Lists the messages to read. In a long range, the texts of earlier summaries stand for the oldest messages. */
function chooseMessages({ messages, older }: SourceRequest): readonly Message[] {
  if (older === undefined || messages.length <= MAX_READ_MESSAGES) return messages;
  return [{ role: 'summary', content: older }, ...messages.slice(-MAX_READ_MESSAGES)];
}

/** The owner of a chosen record is shown with that record, even if a copy of the user's text also shows the owner. */
function openOwners(fragments: readonly Fragment[], shown: readonly number[], isOpen: Uint8Array): void {
  const copied = new Set(shown.filter((index) => (fragments[index] as Fragment).part === 'user'));
  for (const [index, { part, owner }] of fragments.entries()) {
    if (part !== 'user' || isOpen[index] === 0) continue;
    for (let at = owner; at >= 0; at = (fragments[at] as Fragment).owner) if (copied.has(at)) isOpen[at] = 1;
  }
}

/** Characters before a fragment that are compared, too. They distinguish fragments with the same text in a copy. */
const CONTEXT_CHARS = 60;

function isCopied({ start, end }: Fragment, message: Message | undefined, userTexts: string): boolean {
  const { content = '' } = message ?? {};
  return userTexts.includes(content.slice(Math.max(0, start - CONTEXT_CHARS), end));
}
