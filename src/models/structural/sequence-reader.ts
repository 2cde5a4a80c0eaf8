import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Message, ToolCall } from '../../domain/message.ts';
import type { SummaryRequest } from '../../domain/ports/summarizer.ts';
import { findArgumentLiterals, readArguments } from './call-arguments.ts';
import { type CallRecord, lastMeaningfulLine } from './call-lines.ts';
import { classifyWord, findLiterals, findWords, KnownLiterals, LiteralLedger } from './literals.ts';
import { type Line, type OutlineSection, parseOutline } from './outline.ts';
import { clipCharacters, foldLine, takeEnds } from './text.ts';

const SENTENCE_WORTH: Readonly<Record<SentenceKind, number>> = { decides: 1.4, opens: 0.4, opening: 0.8, tells: 0.3 };
const ERROR_WORTH = 1.2;
const OPEN_CALL_WORTH = 3;
const USER_REQUEST_WORTH = 4;
const KEPT_WORTH = 1;
/** Added to the importance of the last text, because that text describes the current state. */
const LAST_TEXT_BONUS = 1;
/** Sentences with fewer characters are worth less: "It works." must not displace a reason. */
const TELLING_CHARS = 80;
/** Number of last texts whose questions and plans count as open. Earlier questions have been answered. */
const OPEN_TEXTS = 2;
const CALL_NAME_CHARS = 60;
const MAX_LINE_CHARS = 1_000;

/** Matches the start of a failed result that was not marked as an error. */
const ERROR_START = /^\s{0,8}(?:error|fatal|traceback|exception)\b/i;

interface PlacedSentence extends Sentence {
  readonly position: number;
}

/**
 * Collects the tool calls and literals (ids, paths, dates, numbers) of the messages, and every other fact as one line.
 */
export class SequenceReader {
  readonly ledger: LiteralLedger;
  readonly #messageCount: number;
  readonly #literals: KnownLiterals;
  readonly #lines: Line[] = [];
  readonly #sentences: PlacedSentence[] = [];
  readonly #textPositions: number[] = [];
  readonly #calls = new Map<string, CallRecord>();
  readonly #callOf = new Map<string, CallRecord>();

  /** @param literals cache of literals from earlier passes */
  constructor(messageCount: number, literals = new KnownLiterals()) {
    this.#messageCount = messageCount;
    this.#literals = literals;
    this.ledger = new LiteralLedger(messageCount);
  }

  get calls(): readonly CallRecord[] {
    return [...this.#calls.values()];
  }

  /** All facts except calls and literals, oldest first. Call lines of earlier summaries are included. */
  get lines(): readonly Line[] {
    const open = this.calls
      .filter((call) => call.result === undefined)
      .map(
        (call): Line => ({ section: 'open', text: foldLine(`no result: ${nameCall(call)}`), worth: OPEN_CALL_WORTH }),
      );
    return [...this.#lines, ...this.#sentenceLines(), ...open];
  }

  readUserRequest(text: string): void {
    this.#addLine('request', text, 0, USER_REQUEST_WORTH);
  }

  read(message: Message, position: number): void {
    if (message.role === 'summary') this.#readSummary(message.content, position);
    else if (message.role === 'tool') this.#readResult(message, position);
    else if (message.role === 'assistant') {
      if (message.content.trim() !== '') this.#readText(message, position);
      for (const call of message.toolCalls ?? []) this.#readCall(call, position);
    }
  }

  #readText(message: Message, position: number): void {
    const { content } = message;
    this.ledger.note(
      this.#literals.of(message, () => findLiterals(takeEnds(content))),
      'text',
      position,
    );
    this.#textPositions.push(position);
    for (const sentence of readSentences(content)) this.#sentences.push({ ...sentence, position });
  }

  #readCall(made: ToolCall, position: number): void {
    const { id, name, arguments: text } = made;
    const key = `${name} ${text}`;
    const given = readArguments(text);
    const call = this.#calls.get(key) ?? { name, arguments: given, count: 0, position };
    call.count += 1;
    call.position = position;
    delete call.result;
    this.#calls.set(key, call);
    this.#callOf.set(id, call);
    this.ledger.note(
      this.#literals.of(made, () => findArgumentLiterals(given)),
      'argument',
      position,
    );
  }

  #readResult(message: Message, position: number): void {
    const { toolCallId = '', content, isError: isMarked = false } = message;
    const isError = isMarked || ERROR_START.test(content);
    this.ledger.note(
      this.#literals.of(message, () => findLiterals(takeEnds(content))),
      'result',
      position,
    );
    const call = this.#callOf.get(toolCallId);
    if (call === undefined) return;
    call.result = { content, isError };
    call.position = position;
    const said = isError ? lastMeaningfulLine(content) : '';
    if (said === '') return;
    this.#addLine('errors', `${nameCall(call)}: ${said}`, position, ERROR_WORTH);
  }

  #readSummary(text: string, position: number): void {
    for (const { section, text: line } of parseOutline(text)) {
      const [word] = findWords(line);
      if (section === 'literals' && word === line) {
        this.ledger.note([{ text: word, kind: classifyWord(word) ?? 'id' }], 'argument', position);
      } else {
        this.ledger.note(findLiterals(line), section === 'calls' ? 'argument' : 'text', position);
        this.#addLine(section === 'literals' ? 'decisions' : section, line, position, KEPT_WORTH);
      }
    }
  }

  #sentenceLines(): Line[] {
    const lastPosition = this.#textPositions.at(-1);
    const openFrom = this.#textPositions.at(-OPEN_TEXTS) ?? 0;
    const said = new Map<string, Line>();
    for (const { text, kind, position } of this.#sentences) {
      const isOpen = kind === 'opens' && position >= openFrom;
      const bonus = position === lastPosition ? LAST_TEXT_BONUS : 0;
      const length = Math.min(1, text.length / TELLING_CHARS);
      const worth = (SENTENCE_WORTH[kind] + bonus + this.#recency(position)) * length;
      said.delete(text);
      said.set(text, { section: isOpen ? 'open' : 'decisions', text: clipCharacters(text, MAX_LINE_CHARS), worth });
    }
    return [...said.values()];
  }

  #addLine(section: OutlineSection, text: string, position: number, worth: number): void {
    const line = foldLine(clipCharacters(text, MAX_LINE_CHARS));
    if (line !== '') this.#lines.push({ section, text: line, worth: worth + this.#recency(position) });
  }

  /** Rises from 0 for the first message towards 1 for the last. */
  #recency(position: number): number {
    return position / this.#messageCount;
  }
}

function nameCall({ name, arguments: [first] }: CallRecord): string {
  return clipCharacters(`${name} ${clipCharacters(first?.value ?? '', CALL_NAME_CHARS)}`.trim(), CALL_NAME_CHARS);
}

/** Characters that are read between two yields, in about 5 ms. */
const SLICE_CHARS = 65_536;

/** @throws the signal's reason */
export async function readSequence(
  { messages, userRequest, signal }: Pick<SummaryRequest, 'messages' | 'userRequest' | 'signal'>,
  literals?: KnownLiterals,
): Promise<SequenceReader> {
  const reader = new SequenceReader(messages.length, literals);
  if (userRequest !== undefined) reader.readUserRequest(userRequest);
  let chars = 0;
  for (const [position, message] of messages.entries()) {
    chars += countChars(message);
    if (chars >= SLICE_CHARS) {
      await nextTurn();
      signal.throwIfAborted();
      chars = 0;
    }
    reader.read(message, position);
  }
  return reader;
}

function countChars({ content, toolCalls = [] }: Message): number {
  return toolCalls.reduce((sum, call) => sum + call.arguments.length, content.length);
}

type SentenceKind = 'decides' | 'opens' | 'opening' | 'tells';

interface Sentence {
  readonly text: string;
  readonly kind: SentenceKind;
}

const DECISION =
  /\b(?:i'll|i’ll|i will|i've|i have|decided?|decision|instead|so we|so i|fixed|confirmed|conclu\w{2,5}|cause is|because|therefore|turns out|works now|passed|done|completed?|success\w{0,6})\b/i;
const OPEN_END = /\b(?:todo|next step|remaining|not yet|still|later|pending|unclear|would you|do you|could you)\b|\?$/i;
const SENTENCE_END = /(?<=[.!?])\s+/;
/** Matches a line end, also an escaped one inside a JSON answer. */
const LINE_END = /\n|\\n/;
const FENCE_LINE = /^\s{0,3}(?:`{3}|~{3})/;
const LIST_MARK = /^(?:[-*+]|\d{1,3}[.)])\s+/;
const MIN_WORDS = 3;

/** Splits an assistant's text into sentences of one folded line each. Code between fences is left out. */
function readSentences(text: string): Sentence[] {
  const sentences: Sentence[] = [];
  let isCode = false;
  for (const line of takeEnds(text).split(LINE_END)) {
    if (FENCE_LINE.test(line)) isCode = !isCode;
    else if (!isCode) {
      for (const part of line.trim().replace(LIST_MARK, '').split(SENTENCE_END)) {
        const sentence = foldLine(part);
        if (sentence.split(' ', MIN_WORDS).length === MIN_WORDS) {
          sentences.push({ text: sentence, kind: classify(sentence, sentences.length === 0) });
        }
      }
    }
  }
  return sentences;
}

function classify(sentence: string, isFirst: boolean): SentenceKind {
  if (OPEN_END.test(sentence)) return 'opens';
  if (DECISION.test(sentence)) return 'decides';
  return isFirst ? 'opening' : 'tells';
}
