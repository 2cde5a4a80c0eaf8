import { chooseFragments } from '../../compaction/evidence/coverage.ts';
import { type Fragment, type Ledger, readLedger } from '../../compaction/evidence/ledger.ts';
import { scanTerms } from '../../compaction/evidence/terms.ts';
import { valueTerms } from '../../compaction/evidence/use-probability.ts';
import { forEachInSlices, type Interruptible } from '../../domain/interruptible.ts';
import type { SummaryRequest } from '../../domain/summarizer.ts';
import type { SeqRange } from '../../domain/version.ts';
import { eventLoopShare } from '../../wire/tokens/event-loop-share.ts';
import type { TokenCounter } from '../../wire/tokens/token-counter.ts';
import { LogQuotes } from './log-quotes.ts';

export interface EvidenceLine {
  readonly text: string;
  /** The terms for which the line was chosen, the most valuable first. At most `MAX_TERMS`. */
  readonly terms: readonly string[];
}

interface EvidenceRequest {
  readonly maxTokens: number;
  readonly range: SeqRange;
  readonly said?: string;
  readonly render: (line: EvidenceLine) => string;
}

const MAX_TERMS = 4;
const MARK_TOKENS = 3;
const TOKENS_A_BYTE = 0.28;
/** Factor by which the first choice exceeds the limit, because its tokens are estimated. Exact counts then decide. */
const SPARE = 1.3;

/** Chooses lines of the log that the agent will most likely use again. Code copies the lines, so they are exact. */
export class Evidence {
  readonly ledger: Ledger;
  readonly quotes: LogQuotes;
  readonly #counter: TokenCounter;
  readonly #values: Float64Array;
  readonly #estimates: Float64Array;
  readonly #shown: readonly number[];
  readonly #range: SeqRange;

  private constructor(counter: TokenCounter, request: SummaryRequest, ledger: Ledger, values: Float64Array) {
    const { messages, userTexts = '', range } = request;
    this.ledger = ledger;
    this.quotes = new LogQuotes(ledger, request);
    this.#counter = counter;
    this.#range = range;
    this.#values = values;
    this.#estimates = Float64Array.from(ledger.fragments, ({ text }) => Buffer.byteLength(text) * TOKENS_A_BYTE + 1);
    this.#shown = [...ledger.fragments.keys()].filter((index) => {
      const { message, part, text } = ledger.fragments[index] as Fragment;
      return message >= messages.length || (part === 'user' && userTexts.includes(text));
    });
  }

  static async read(counter: TokenCounter, request: SummaryRequest): Promise<Evidence> {
    const ledger = await eventLoopShare.run(readLedger([...request.messages, ...(request.later ?? [])]));
    request.signal.throwIfAborted();
    const values = await eventLoopShare.run(valueTerms(ledger));
    return new Evidence(counter, request, ledger, values);
  }

  /** Each chosen line has a valuable term of its own that `said` lacks. @returns in the order of the log */
  async choose(request: EvidenceRequest): Promise<string[]> {
    const ranked = await eventLoopShare.run(this.#rank(request));
    const taken: { readonly index: number; readonly line: string }[] = [];
    let left = request.maxTokens;
    const texts = new Set<string>();
    for (const { index, terms } of ranked) {
      const text = this.quotes.write(index);
      if (texts.has(text)) continue;
      const line = request.render({ text, terms });
      const tokens = this.#counter.countSync(line) + 1;
      if (tokens > left) continue;
      left -= tokens;
      texts.add(text);
      taken.push({ index, line });
    }
    return taken.toSorted((a, b) => a.index - b.index).map(({ line }) => line);
  }

  *#rank({
    maxTokens,
    range,
    said = '',
  }: Omit<EvidenceRequest, 'render'>): Interruptible<{ index: number; terms: string[] }[]> {
    const { fragments, superseded } = this.ledger;
    const values = yield* this.#valuesBeside(said);
    const [first, last] = [range.from - this.#range.from, range.to - this.#range.from];
    const chosen = yield* chooseFragments({
      ledger: this.ledger,
      values,
      tokens: this.#estimates,
      maxTokens: SPARE * maxTokens,
      headTokens: MARK_TOKENS,
      shown: this.#shown,
      mayChoose: (index) => {
        const { message, part } = fragments[index] as Fragment;
        const isStale = part === 'result' && superseded.has(message);
        return message >= first && message <= last && !isStale && this.quotes.mayQuote(index);
      },
    });
    const covered = new Set(this.#shown.flatMap((index) => (fragments[index] as Fragment).terms));
    return chosen.flatMap((index) => {
      const added = (fragments[index] as Fragment).terms.filter(
        (term) => !covered.has(term) && (values[term] as number) > 0,
      );
      for (const term of added) covered.add(term);
      const best = added.toSorted((a, b) => (values[b] as number) - (values[a] as number) || a - b).slice(0, MAX_TERMS);
      return best.length === 0 ? [] : [{ index, terms: best.map((term) => this.#textOf(term)) }];
    });
  }

  *#valuesBeside(text: string): Interruptible<Float64Array> {
    const held = new Set<string>();
    for (const line of text.split('\n')) {
      scanTerms(line, 0, line.length, (term) => held.add(term));
      yield;
    }
    const values = Float64Array.from(this.#values);
    yield* forEachInSlices(this.ledger.terms, (term, index) => {
      if (held.has(term.text)) values[index] = 0;
    });
    return values;
  }

  #textOf(term: number): string {
    return this.ledger.terms[term]?.text ?? '';
  }
}
