import { setImmediate as nextTurn } from 'node:timers/promises';
import { chooseFragments } from '../../domain/evidence/coverage.ts';
import type { Part } from '../../domain/evidence/fragments.ts';
import { type Fragment, type Ledger, readLedger } from '../../domain/evidence/ledger.ts';
import { valueTerms } from '../../domain/evidence/use-probability.ts';
import type { Summarizer, SummaryAnswer } from '../../domain/ports/summarizer.ts';
import type { TokenCounter } from '../../domain/ports/token-counter.ts';
import type { Sliced } from '../../domain/sliced.ts';
import { foldLine } from './text.ts';

export interface StructuralSummarizerOptions {
  readonly counter: Pick<TokenCounter, 'count' | 'countSync'>;
}

/** Fewer tokens hold no call with its outcome. */
const MIN_TOKENS = 24;
/** Tries until the text fits. Joined lines count at most a little more than alone. */
const MAX_TRIES = 4;
/** Tokens of a mark before the first fragment of a message. */
const MARK_TOKENS = 3;
const MARKS: Readonly<Record<Part, string>> = { user: 'user: ', statement: 'agent: ', call: '→ ', result: '← ' };

/**
 * Summarizes without a model. It keeps the lines that name what the agent will most likely use next, in the order of events:
 * `→` marks a call with its arguments, `←` its outcome. The same request gives the same text.
 */
export function createStructuralSummarizer({ counter }: StructuralSummarizerOptions): Summarizer {
  return {
    id: 'structural',
    async summarize({ messages, later = [], userTexts = '', maxTokens, signal }): Promise<SummaryAnswer> {
      const ledger = await runInTurns(readLedger([...messages, ...later]), signal);
      const tokens = await runInTurns(countFragments(ledger, counter), signal);
      const source: Source = { ledger, tokens, length: messages.length, userTexts };
      const room = Math.min(maxTokens, sumOfSource(source) - 1);
      if (room < MIN_TOKENS) return refuse(`${Math.max(0, room)} tokens are too few for a summary`);
      for (let tries = 1, target = room; tries <= MAX_TRIES; tries += 1) {
        const text = renderLines(ledger, await runInTurns(choose(source, target), signal));
        const used = await counter.count(text);
        if (text !== '' && used <= room) return { status: 'written', text };
        target = Math.floor((target * room) / (used + 1));
      }
      return refuse('no line fits');
    },
  };
}

function refuse(why: string): SummaryAnswer {
  return { status: 'refused', why };
}

interface Source {
  readonly ledger: Ledger;
  /** Tokens by fragment, with the line end. */
  readonly tokens: Float64Array;
  /** Messages of the sequence. The rest follows it, and stays in the context. */
  readonly length: number;
  readonly userTexts: string;
}

/** @throws the signal's reason */
async function runInTurns<Result>(work: Sliced<Result>, signal: AbortSignal): Promise<Result> {
  for (;;) {
    const slice = work.next();
    if (slice.done === true) return slice.value;
    await nextTurn();
    signal.throwIfAborted();
  }
}

/** Fragments that are counted between two yields. */
const SLICE_FRAGMENTS = 256;

function* countFragments({ fragments }: Ledger, counter: Pick<TokenCounter, 'countSync'>): Sliced<Float64Array> {
  const tokens = new Float64Array(fragments.length);
  for (const [index, { text }] of fragments.entries()) {
    tokens[index] = counter.countSync(text) + 1;
    if (index % SLICE_FRAGMENTS === 0) yield;
  }
  return tokens;
}

function sumOfSource({ ledger, tokens, length }: Source): number {
  let sum = 0;
  for (const [index, { message }] of ledger.fragments.entries()) if (message < length) sum += tokens[index] ?? 0;
  return sum;
}

function* choose({ ledger, tokens, length, userTexts }: Source, maxTokens: number): Sliced<readonly Fragment[]> {
  const { fragments, superseded } = ledger;
  const shown = [...fragments.keys()].filter((index) => {
    const { message, part, text } = fragments[index] as Fragment;
    return message >= length || (part === 'user' && userTexts.includes(text));
  });
  yield;
  const chosen = yield* chooseFragments({
    ledger,
    values: valueTerms(ledger),
    tokens,
    maxTokens,
    headTokens: MARK_TOKENS,
    shown,
    mayChoose: (index) => {
      const { message, part } = fragments[index] as Fragment;
      return message < length && !(part === 'result' && superseded.has(message));
    },
  });
  return chosen.toSorted((a, b) => a - b).map((index) => fragments[index] as Fragment);
}

function renderLines({}: Ledger, chosen: readonly Fragment[]): string {
  const lines: string[] = [];
  let before: Fragment | undefined;
  for (const fragment of chosen) {
    const text = foldLine(fragment.text);
    const continues = before?.message === fragment.message && before.partIndex === fragment.partIndex;
    if (continues && before?.end === fragment.start) lines.push(`${lines.pop() ?? ''}${text}`);
    else if (text !== '') lines.push(continues ? text : MARKS[fragment.part] + text);
    before = fragment;
  }
  return lines.join('\n');
}
