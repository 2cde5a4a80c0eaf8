import type { Fragment, Ledger } from '../../compaction/evidence/ledger.ts';
import { readOutcome } from '../../compaction/evidence/outcome.ts';
import { GAP, writeLines } from '../../compaction/evidence/record-lines.ts';
import { markSpeaker, SPEAKER_MARKS } from '../../compaction/evidence/summary-records.ts';
import type { Message } from '../../domain/message.ts';
import type { SummaryRequest } from '../../domain/summarizer.ts';
import { foldLine, foldRecord } from '../structural/text.ts';
import { describeAttachments } from './pictures.ts';

export type Speaker = 'user' | 'system' | 'agent' | 'call' | 'result';

const WHOLE_CHARS = 600;
/** Characters that are quoted on each side of a user's record, because a condition or a "no" may stand there. */
const AROUND_CHARS = 300;
/** Matches a figure, or a name that is no plain word. */
const DATA = /\d|\w_|_\w|\w[/@]\w|(?:^|\s)[~.]{0,2}[/#]\w|\p{Ll}\p{Lu}/u;

/** True if a text holds a figure or a name. Other text of a tool is prose, which may pose as the will of a person. */
export function holdsData(text: string): boolean {
  return DATA.test(text);
}

type QuotedRange = Pick<SummaryRequest, 'messages' | 'range' | 'userTexts'>;

/** Writes quotes. A quote names its author, and for a person also the message. `…` stands for omitted text. */
export class LogQuotes {
  readonly #ledger: Ledger;
  readonly #messages: readonly Message[];
  readonly #firstSeq: number;
  readonly #userTexts: string;
  readonly #failed = new Map<number, boolean>();

  constructor(ledger: Ledger, { messages, range, userTexts = '' }: QuotedRange) {
    this.#ledger = ledger;
    this.#messages = messages;
    this.#firstSeq = range.from;
    this.#userTexts = userTexts;
  }

  speakerOf(index: number): Speaker {
    const { part, message } = this.#fragment(index);
    if (part === 'statement') return 'agent';
    if (part !== 'user') return part;
    return this.#messages[message]?.role === 'system' ? 'system' : 'user';
  }

  /** False for prose in the result of a tool that succeeded. */
  mayQuote(index: number): boolean {
    const { message, part, text } = this.#fragment(index);
    if (message >= this.#messages.length) return false;
    return part !== 'result' || holdsData(text) || this.#hasFailed(message);
  }

  #hasFailed(message: number): boolean {
    const known = this.#failed.get(message);
    if (known !== undefined) return known;
    const failed = readOutcome(this.#messages[message] as Message).status !== 'ok';
    this.#failed.set(message, failed);
    return failed;
  }

  /** True if the whole user message is copied before the summary. */
  isShown(index: number): boolean {
    const { message, part } = this.#fragment(index);
    return part === 'user' && this.#userTexts.includes(this.#messages[message]?.content ?? '');
  }

  placeOf(index: number): string {
    const { message, partIndex } = this.#fragment(index);
    return `${message}.${partIndex}`;
  }

  /** Writes records of a message in one line, with owners. Words of a person are quoted with their surroundings. */
  write(...indexes: readonly [number, ...number[]]): string {
    const { message } = this.#fragment(indexes[0]);
    const speaker = this.speakerOf(indexes[0]);
    const seq = this.#firstSeq + message;
    if (speaker === 'call' || speaker === 'result') return SPEAKER_MARKS[speaker] + this.#writeRecords(indexes);
    const said = speaker === 'agent' ? [this.#writeRecords(indexes)] : this.#quotePerson(indexes);
    return markSpeaker(speaker, seq) + said.join(' ');
  }

  #quotePerson(indexes: readonly [number, ...number[]]): string[] {
    const records = indexes.map((index) => this.#fragment(index));
    const message = this.#messages[this.#fragment(indexes[0]).message] as Message;
    return [quoteAround(message.content, records), ...describeAttachments(message, undefined)];
  }

  #writeRecords(indexes: readonly number[]): string {
    const shown = new Map<number, Fragment & { readonly index: number }>();
    for (const index of indexes)
      for (let at = index; at >= 0 && !shown.has(at); at = this.#fragment(at).owner)
        shown.set(at, { ...this.#fragment(at), text: foldRecord(this.#fragment(at).text), index: at });
    const lines = writeLines([...shown.values()]).map(
      ({ text, isApart }) => `${isApart ? ` ${GAP}` : ''} ${text.trim()}`,
    );
    return lines.join('').trim();
  }

  #fragment(index: number): Fragment {
    return this.#ledger.fragments[index] as Fragment;
  }
}

/** Maximum characters of a word that a quote does not split. Scripts without spaces are cut between characters. */
const MAX_WORD_CHARS = 40;

function wordStart(text: string, at: number): number {
  if (at <= 0) return 0;
  const before = text.slice(Math.max(0, at - MAX_WORD_CHARS), at);
  const space = [...before.matchAll(/\s/g)].at(-1);
  return space === undefined ? at : at - before.length + space.index + 1;
}

function wordEnd(text: string, at: number): number {
  if (at >= text.length) return text.length;
  const space = text.slice(at, at + MAX_WORD_CHARS).search(/\s/);
  return space === -1 ? at : at + space;
}

function quoteAround(text: string, records: readonly Pick<Fragment, 'start' | 'end'>[]): string {
  if (text.length <= WHOLE_CHARS) return foldLine(text);
  const stretches: { readonly from: number; to: number }[] = [];
  for (const { start, end } of records.toSorted((a, b) => a.start - b.start)) {
    const [from, to] = [wordStart(text, start - AROUND_CHARS), wordEnd(text, end + AROUND_CHARS)];
    const last = stretches.at(-1);
    if (last !== undefined && from <= last.to) last.to = Math.max(last.to, to);
    else stretches.push({ from, to });
  }
  const quoted = stretches.map(({ from, to }) => foldLine(text.slice(from, to)));
  const [before, behind] = [(stretches[0]?.from ?? 0) > 0, (stretches.at(-1)?.to ?? 0) < text.length];
  return `${before ? `${GAP} ` : ''}${quoted.join(` ${GAP} `)}${behind ? ` ${GAP}` : ''}`;
}
