import { type Fragment, type Ledger, readLedger } from '../../compaction/evidence/ledger.ts';
import { readOutcome } from '../../compaction/evidence/outcome.ts';
import { markSpeaker } from '../../compaction/evidence/summary-records.ts';
import { valueTermsInSlices } from '../../compaction/evidence/use-probability.ts';
import { endsSlice, type Interruptible } from '../../domain/interruptible.ts';
import type { Message } from '../../domain/message.ts';
import type { SummaryRequest } from '../../domain/summarizer.ts';
import { READ_ONLY_NAME } from '../model/effects.ts';
import { estimateTokens } from './line-tokens.ts';
import { findStale } from './stale-lines.ts';
import { isFrame, type ShownFragment } from './summary-lines.ts';

/** Fragments that a summary may be made of, each named by its index in the ledger. */
export interface SummarySource {
  readonly ledger: Ledger;
  /** Messages of the ledger: the user's request, the messages to summarize, and those that follow. */
  readonly messages: readonly Message[];
  /** Log number (seq) of the first message of the ledger, if the numbers had no gaps. */
  readonly firstSeq: number;
  /** Value of each term, by its index. */
  readonly values: Float64Array;
  /** Tokens of each fragment: estimates, until a fragment is counted. */
  readonly tokens: Float64Array;
  /** Fragments that stay in the context beside the summary. */
  readonly shown: readonly number[];
  /** 1 for each fragment that may be chosen. */
  readonly isOpen: Uint8Array;
  /** Last fragment of the messages to summarize, or −1. */
  readonly newest: number;
  readonly calls: CallPlaces;
}

type SourceRequest = Pick<SummaryRequest, 'range' | 'messages' | 'later' | 'keptLater' | 'userTexts' | 'userRequest'>;

export function* readSource({
  range,
  messages,
  userRequest,
  userTexts = '',
  later = [],
  keptLater = 0,
}: SourceRequest): Interruptible<SummarySource> {
  const request: Message[] = userRequest === undefined ? [] : [{ role: 'user', content: userRequest }];
  const all = [...request, ...messages, ...later];
  const end = request.length + messages.length;
  const firstKept = all.length - Math.min(keptLater, later.length);
  const ledger = yield* readLedger(all);
  const { fragments, superseded } = ledger;
  yield;
  const values = yield* valueTermsInSlices(ledger);
  const stale = yield* findStale({
    messages: all,
    fragments,
    mayStay: (message) => message < end || message >= firstKept,
  });
  const tokens = new Float64Array(fragments.length);
  const isOpen = new Uint8Array(fragments.length);
  const shown: number[] = [];
  let newest = -1;
  for (const [index, fragment] of fragments.entries()) {
    const { message, part, text } = fragment;
    if (endsSlice(index)) yield;
    tokens[index] = estimateTokens(text) + 1;
    const isShown =
      message < request.length ||
      message >= firstKept ||
      (part === 'user' && isCopied(fragment, all[message], userTexts));
    if (message >= request.length && message < end && text.trim() !== '') newest = index;
    if (isShown) shown.push(index);
    else if (message < end && stale[index] === 0 && !(part === 'result' && superseded.has(message)) && !isFrame(text))
      isOpen[index] = 1;
  }
  openOwners(fragments, shown, isOpen);
  return {
    ledger,
    messages: all,
    firstSeq: range.from - request.length,
    values,
    tokens,
    shown: shown.filter((index) => isOpen[index] === 0),
    isOpen,
    newest,
    calls: findCalls(ledger, all),
  };
}

/** The owner of a record stands beside it, although the copy of a user's text has the owner, too. */
function openOwners(fragments: readonly Fragment[], shown: readonly number[], isOpen: Uint8Array): void {
  const copied = new Set(shown.filter((index) => (fragments[index] as Fragment).part === 'user'));
  for (const [index, { part, owner }] of fragments.entries()) {
    if (part !== 'user' || isOpen[index] === 0) continue;
    for (let at = owner; at >= 0; at = (fragments[at] as Fragment).owner) if (copied.has(at)) isOpen[at] = 1;
  }
}

/** Characters before a fragment that show whether a copy has this fragment, and not another with the same text. */
const CONTEXT_CHARS = 60;

function isCopied({ start, end }: Fragment, message: Message | undefined, userTexts: string): boolean {
  const { content = '' } = message ?? {};
  return userTexts.includes(content.slice(Math.max(0, start - CONTEXT_CHARS), end));
}

/** Calls of a source with their results. */
export interface CallPlaces {
  /** First fragment of each call, by the index of its result's message. */
  readonly headOf: ReadonlyMap<number, number>;
  /** First fragments of calls that changed something or failed, and the last lines of failed results. */
  readonly effects: ReadonlySet<number>;
  /** Status of each failed call, by the index of its result's message. */
  readonly failures: ReadonlyMap<number, string>;
}

/** Fewer terms say nothing about an error. */
const MIN_ERROR_TERMS = 2;

function findCalls({ fragments, superseded }: Ledger, messages: readonly Message[]): CallPlaces {
  /** First fragments of the parts of each message. */
  const firstOf = new Map<number, number[]>();
  const lastOf = new Map<number, number>();
  for (const [index, { message, partIndex, start, terms }] of fragments.entries()) {
    if (start === 0) {
      const firsts = firstOf.get(message) ?? [];
      firsts[partIndex] = index;
      firstOf.set(message, firsts);
    }
    if (terms.length >= MIN_ERROR_TERMS) lastOf.set(message, index);
  }
  const headOfCall = new Map<string, number>();
  const headOf = new Map<number, number>();
  const effects = new Set<number>();
  const failures = new Map<number, string>();
  for (const [index, message] of messages.entries()) {
    const { content, toolCalls = [], toolCallId = '' } = message;
    for (const [position, { id, name }] of toolCalls.entries()) {
      const head = firstOf.get(index)?.[position + (content === '' ? 0 : 1)];
      if (head === undefined) continue;
      headOfCall.set(id, head);
      if (!READ_ONLY_NAME.test(name)) effects.add(head);
    }
    const head = headOfCall.get(toolCallId);
    if (head === undefined) continue;
    headOf.set(index, head);
    const { status } = readOutcome(message);
    if (status === 'ok' || superseded.has(index)) continue;
    failures.set(index, status);
    effects.add(head);
    const line = lastOf.get(index);
    if (line !== undefined) effects.add(line);
  }
  return { headOf, effects, failures };
}

/** First fragment of the call that a fragment of a result answers. */
function headFor({ ledger, calls }: Pick<SummarySource, 'ledger' | 'calls'>, index: number): number | undefined {
  const { message, part } = ledger.fragments[index] as Fragment;
  return part === 'result' ? calls.headOf.get(message) : undefined;
}

/**
 * Fragment that is shown with a fragment: its owner, or the call of a result. A call that names all that the owner names
 * stands for the owner.
 */
export function leadFor(source: Pick<SummarySource, 'ledger' | 'calls'>, index: number): number | undefined {
  const { fragments } = source.ledger;
  const { owner } = fragments[index] as Fragment;
  const head = headFor(source, index);
  if (owner < 0) return head;
  const named = head === undefined ? undefined : (fragments[head] as Fragment).terms;
  const { terms, owner: outer } = fragments[owner] as Fragment;
  return outer < 0 && named !== undefined && terms.every((term) => named.includes(term)) ? head : owner;
}

/** Puts chosen fragments in the order of events, each result behind its call. A failed call never stands without its status. */
export function showFragments(source: SummarySource, chosen: readonly number[]): ShownFragment[] {
  const { ledger, calls } = source;
  const placed = chosen.map((index) => ({ at: headFor(source, index) ?? index, shown: showFragment(source, index) }));
  const shownMessages = new Set(placed.map(({ shown }) => shown.message));
  const shownIndexes = new Set(chosen);
  for (const [message, status] of calls.failures) {
    const head = calls.headOf.get(message);
    if (head === undefined || !shownIndexes.has(head) || shownMessages.has(message)) continue;
    const place = { message, part: 'result', partIndex: 0, start: 0, end: 0, owner: -1, line: 0, depth: 0 } as const;
    const shown = {
      ...place,
      terms: [],
      text: status,
      status: undefined,
      isSummary: false,
      index: ledger.fragments.length,
    };
    placed.push({ at: head, shown });
  }
  placed.sort((a, b) => a.at - b.at || a.shown.index - b.shown.index);
  return placed.map(({ shown }) => shown);
}

function showFragment(source: SummarySource, index: number): ShownFragment {
  const { ledger, messages, calls } = source;
  const fragment = ledger.fragments[index] as Fragment;
  const { role, stopped } = messages[fragment.message] ?? {};
  const said = stopped === true ? 'stopped' : undefined;
  return {
    ...fragment,
    index,
    status: fragment.part === 'result' ? calls.failures.get(fragment.message) : said,
    isSummary: role === 'summary',
    ...(fragment.part === 'user' && { person: quotePerson(source, fragment) }),
  };
}

function quotePerson({ messages, firstSeq }: SummarySource, { message, start, end }: Fragment) {
  const { role, content = '' } = messages[message] ?? {};
  return {
    mark: markSpeaker(role === 'system' ? 'system' : 'user', firstSeq + message),
    isCutBefore: content.slice(0, start).trim() !== '',
    isCutBehind: content.slice(end).trim() !== '',
  };
}
