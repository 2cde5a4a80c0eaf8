/**
 * Summarizes without a model: a summary is a choice of the log's own lines, in the order of events. `→` marks a call
 * with its arguments, `←` its outcome. Summarizing costs nothing and needs no network, and the same request gives the
 * same text.
 *
 * At 20 % of a recorded conversation, a summary holds 78 % of the names, numbers and paths that the agent uses next.
 * Random lines hold 52 %, as do the first and the last rounds (docs/explanation/context-quality.md).
 *
 * `readSource` splits the messages into fragments, values their terms and marks stale lines. `choose` takes the
 * fragments whose terms are worth most for their tokens. Calls that changed something or failed come first, because an
 * agent that forgets them may repeat them. `showFragments` puts each result after its call, and `renderLines` writes
 * the lines.
 *
 * An exact count of every line would cost ten times the estimate of `line-tokens.ts`. So a try chooses by estimates,
 * writes the text, counts it, and corrects the target of the next try by the error.
 */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { isSpareLine } from '../../compaction/evidence/alike-lines.ts';
import { chooseFragments } from '../../compaction/evidence/coverage.ts';
import type { Fragment } from '../../compaction/evidence/ledger.ts';
import { GAP } from '../../compaction/evidence/record-lines.ts';
import { breakBefore } from '../../compaction/evidence/word-breaks.ts';
import type { Interruptible } from '../../domain/interruptible.ts';
import type { Message } from '../../domain/message.ts';
import type { Summarizer, SummaryAnswer } from '../../domain/summarizer.ts';
import type { TokenCounter } from '../../wire/tokens/token-counter.ts';
import { writeOutcome } from '../progress/calls.ts';
import { writeFront } from '../progress/progress-lines.ts';
import { chooseCalls, findTerms } from './call-choice.ts';
import { leadFor } from './call-places.ts';
import { renderLines, showFragments } from './summary-lines.ts';
import { readSource, type SummarySource } from './summary-source.ts';

type Counter = Pick<TokenCounter, 'count' | 'countSync' | 'clipStart'>;

interface StructuralSummarizerOptions {
  readonly counter: Counter;
}

/** Minimum tokens of a summary. Fewer tokens hold no call with its outcome. */
const MIN_TOKENS = 24;
const MAX_TRIES = 5;
const MIN_FILL = 0.96;
/** Share of the token limit at which a repeated try aims. */
const AIM = 0.985;
const MAX_GROWTH = 2;
const MARK_TOKENS = 2;
const GAP_TOKENS = 3;
const LONGEST_LINE_TOKENS = 2_000;

export function createStructuralSummarizer({ counter }: StructuralSummarizerOptions): Summarizer {
  return {
    id: 'structural',
    async summarize(request): Promise<SummaryAnswer> {
      const { messages, maxTokens, signal } = request;
      const room = Math.min(maxTokens, (await countUpTo(counter, messages, maxTokens + 1)) - 1);
      if (room < MIN_TOKENS) return refuse(`${Math.max(0, room)} tokens are too few for a summary`);
      const source = await runInTurns(readSource(request), signal);
      let best = { text: '', tokens: 0 };
      for (let tries = 1, target = room; tries <= MAX_TRIES && best.tokens < MIN_FILL * room; tries += 1) {
        const { fragments, calls, front } = await runInTurns(choose(counter, source, Math.floor(target)), signal);
        if (tries === 1) countExactly(counter, source, fragments);
        const text = [...front, renderLines(showFragments(source, fragments, calls))].join('\n').trim();
        const tokens = await counter.count(text);
        if (tokens <= room && tokens > best.tokens) best = { text, tokens };
        target *= Math.min(MAX_GROWTH, (AIM * room) / Math.max(1, tokens));
      }
      const text = best.text === '' ? await writeOneLine(counter, source, room, signal) : best.text;
      return text === '' ? refuse('no line fits') : { status: 'written', text };
    },
  };
}

function refuse(why: string): SummaryAnswer {
  return { status: 'refused', why };
}

/** Maximum UTF-8 bytes of a UTF-16 unit. */
const MAX_UNIT_BYTES = 3;

async function countUpTo(counter: Counter, messages: readonly Message[], limit: number): Promise<number> {
  let tokens = 0;
  for (const { content, toolCalls = [] } of messages) {
    const text = content + toolCalls.map((call) => call.name + call.arguments).join('');
    // A text has at most as many tokens as bytes, so most messages need no clip.
    const mayExceed = text.length * MAX_UNIT_BYTES > limit - tokens;
    if (mayExceed && (await counter.clipStart(text, limit - tokens)).length < text.length) return limit;
    tokens += await counter.count(text);
  }
  return tokens;
}

async function runInTurns<Result>(work: Interruptible<Result>, signal: AbortSignal): Promise<Result> {
  for (;;) {
    const slice = work.next();
    if (slice.done === true) return slice.value;
    await nextTurn();
    signal.throwIfAborted();
  }
}

/** Writes the start of the best line, or of the newest line if no line was chosen. */
async function writeOneLine(
  counter: Counter,
  source: SummarySource,
  maxTokens: number,
  signal: AbortSignal,
): Promise<string> {
  const [best] = (await runInTurns(choose(counter, source, LONGEST_LINE_TOKENS), signal)).fragments;
  const line = best ?? source.newest;
  const text = line < 0 ? '' : renderLines(showFragments(source, [line]));
  const fitting = (await counter.clipStart(text, maxTokens - 1)).trimEnd();
  if (fitting.length === text.trimEnd().length) return fitting;
  return cutBetweenValues(text, (await counter.clipStart(text, maxTokens - GAP_TOKENS)).length);
}

/** Places between values where a line may be cut, because a part of a value would be another value. */
const BETWEEN_VALUES = /[,;，；、。]|\s(?=[\w."'-]+\s?[:=])/g;

function cutBetweenValues(text: string, chars: number): string {
  const fitting = text.slice(0, chars);
  const last = [...fitting.matchAll(BETWEEN_VALUES)].at(-1)?.index ?? fitting.lastIndexOf(' ');
  return `${text.slice(0, last > 0 ? last : breakBefore(text, chars)).trimEnd()} ${GAP}`;
}

function countExactly(counter: Counter, { ledger, tokens, calls }: SummarySource, chosen: readonly number[]): void {
  for (const index of chosen) {
    const call = calls.placed.get(index);
    const text = (ledger.fragments[index] as Fragment).text.trim();
    tokens[index] =
      counter.countSync(call === undefined ? text : `${text} ${writeOutcome(call.made, call.outcome)}`) + 1;
  }
}

interface ChosenLines {
  readonly fragments: readonly number[];
  readonly calls: ReadonlyMap<number, string>;
  /** Lines in front of the summary. */
  readonly front: readonly string[];
}

/** Chooses calls with their outcomes first, and beside them the fragments that are worth most. */
function* choose(counter: Counter, source: SummarySource, maxTokens: number): Interruptible<ChosenLines> {
  const { ledger, values, tokens, shown, isOpen, alike } = source;
  const front = writeFront(counter, source.progress, maxTokens);
  const frontTokens = front.reduce((sum, line) => sum + counter.countSync(line) + 1, 0);
  const calls = chooseCalls(counter, source, maxTokens - frontTokens);
  yield;
  const isWhole = new Set(calls.whole);
  const fragments = yield* chooseFragments({
    ledger,
    values,
    tokens,
    headTokens: MARK_TOKENS,
    maxTokens: maxTokens - frontTokens - calls.tokens,
    shown: [...shown, ...calls.whole],
    covered: [...calls.terms, ...front.flatMap((line) => findTerms(ledger, line))],
    leadOf: (index) => {
      const lead = leadFor(source, index);
      return lead !== undefined && calls.lines.has(lead) ? undefined : lead;
    },
    fillsUp: true,
    isSpare: (index) => isSpareLine(alike, index),
    mayChoose: (index) => isOpen[index] === 1 && !isWhole.has(index),
  });
  return { fragments, calls: calls.lines, front };
}
