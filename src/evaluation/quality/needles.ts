import type { Message } from '../../domain/message.ts';
import type { Corpus, Recording } from './corpus.ts';
import {
  findCallIdentifiers,
  findIdentifiers,
  findMessageIdentifiers,
  findPlainWords,
  type IdentifierKind,
} from './identifiers.ts';
import { findWhole, holds, renderMessage } from './searchable-text.ts';

/** An identifier of the source that the agent uses soon after the cut. */
export interface Needle {
  readonly text: string;
  readonly kind: IdentifierKind;
  readonly isInArgument: boolean;
  readonly isFromUser: boolean;
  /** Share of the source after its last occurrence. */
  readonly age: number;
  /** Messages of the source that hold it. */
  readonly messages: number;
}

/** A cut of a recording: everything before it is compacted, everything after it shows what the agent needed. */
export interface QualityPoint {
  readonly recording: Recording;
  /** Index of the first message after the cut. */
  readonly cut: number;
  /** Messages before the cut, without system messages. */
  readonly source: readonly Message[];
  readonly sourceText: string;
  readonly needles: readonly Needle[];
  /** Identifiers like the needles, by kind and by frequency, that the agent never uses again. */
  readonly controls: readonly string[];
}

/** Messages after the cut in which a use counts. */
const HORIZON = 40;

export function findPoint(recording: Recording, cut: number, corpus: Corpus): QualityPoint {
  const source = recording.messages.slice(0, cut).filter(({ role }) => role !== 'system');
  const rendered = source.map(renderMessage);
  const sourceText = rendered.join('\n');
  const needles = findNeedles(recording, { cut, source, rendered, sourceText }, corpus);
  return { recording, cut, source, sourceText, needles, controls: chooseControls(recording, cut, needles, corpus) };
}

interface Source {
  readonly cut: number;
  readonly source: readonly Message[];
  readonly rendered: readonly string[];
  readonly sourceText: string;
}

/**
 * Finds what the assistant uses for the first time after the cut and could only know from the source. It leaves out
 * whatever the system prompt holds, what another message after the cut brings before its use, and common identifiers.
 */
function findNeedles({ messages, group }: Recording, source: Source, corpus: Corpus): Needle[] {
  const { cut, sourceText } = source;
  const system = textOf(messages, 'system');
  const userText = textOf(source.source, 'user');
  const toolNames = new Set(messages.flatMap(({ toolCalls = [] }) => toolCalls.map(({ name }) => name)));
  const seen = new Set<string>();
  const later: string[] = [];
  const needles: Needle[] = [];
  for (const message of messages.slice(cut, cut + HORIZON)) {
    for (const [text, use] of message.role === 'assistant' ? findUses(message, corpus) : []) {
      if (seen.has(text)) continue;
      seen.add(text);
      const isKnownAnyway = toolNames.has(text) || corpus.isCommon(text, group) || holds(system, text);
      if (isKnownAnyway || later.some((known) => holds(known, text)) || !holds(sourceText, text)) continue;
      needles.push({
        text,
        ...use,
        isFromUser: holds(userText, text),
        age: 1 - sourceText.lastIndexOf(text) / sourceText.length,
        messages: source.rendered.filter((one) => holds(one, text)).length,
      });
    }
    const rendered = renderMessage(message);
    later.push(rendered);
    // The identifiers of a text may be cut at its marks, so that they stand in it only as parts of longer words.
    for (const identifier of findIdentifiers(rendered).keys()) seen.add(identifier);
  }
  return needles;
}

function textOf(messages: readonly Message[], role: Message['role']): string {
  return messages
    .filter((message) => message.role === role)
    .map(({ content }) => content)
    .join('\n');
}

type Use = Pick<Needle, 'kind' | 'isInArgument'>;

function findUses(message: Message, corpus: Corpus): Map<string, Use> {
  const uses = new Map<string, Use>();
  for (const call of message.toolCalls ?? []) {
    for (const [text, kind] of findCallIdentifiers(call)) uses.set(text, { kind, isInArgument: true });
  }
  for (const [text, kind] of findIdentifiers(message.content)) {
    if (!uses.has(text)) uses.set(text, { kind, isInArgument: false });
  }
  for (const text of findPlainWords(message.content)) {
    if (!uses.has(text) && corpus.isRareWord(text)) uses.set(text, { kind: 'word', isInArgument: false });
  }
  return uses;
}

/** Differences in frequency that a control may have, nearest first. */
const FREQUENCY_STEPS = [0, -1, 1, -2, 2, -3, 3];
const FIRST_SEED = 12_345;

/** Chooses a control for each needle that has one. The choice is random but always the same. */
function chooseControls(
  { messages, group }: Recording,
  cut: number,
  needles: readonly Needle[],
  corpus: Corpus,
): string[] {
  const used = new Set(needles.map(({ text }) => text));
  const later = messages.slice(cut).filter(({ role }) => role === 'assistant');
  for (const identifier of findIdentifiers(later.map(renderMessage).join('\n')).keys()) used.add(identifier);
  const frequencies = countMessages(messages.slice(0, cut).filter(({ role }) => role !== 'system'));
  const pool = new Map<string, string[]>();
  for (const [text, { kind, messages: count }] of frequencies) {
    if (used.has(text) || corpus.isCommon(text, group)) continue;
    const key = `${kind} ${count}`;
    pool.set(key, [...(pool.get(key) ?? []), text]);
  }
  const controls: string[] = [];
  let seed = FIRST_SEED;
  for (const { text, kind, messages: count } of needles) {
    if (kind === 'word') continue;
    const frequency = frequencies.get(text)?.messages ?? count;
    const step = FREQUENCY_STEPS.find((by) => (pool.get(`${kind} ${frequency + by}`)?.length ?? 0) > 0);
    const similar = step === undefined ? [] : (pool.get(`${kind} ${frequency + step}`) ?? []);
    if (similar.length === 0) continue;
    seed = (Math.imul(seed, 1_103_515_245) + FIRST_SEED) >>> 0;
    controls.push(...similar.splice(seed % similar.length, 1));
  }
  return controls;
}

/** Kind of each identifier, and the number of messages that hold it. */
function countMessages(messages: readonly Message[]): Map<string, { readonly kind: IdentifierKind; messages: number }> {
  const counts = new Map<string, { readonly kind: IdentifierKind; messages: number }>();
  for (const message of messages) {
    const identifiers = findIdentifiers(renderMessage(message));
    for (const [text, kind] of findMessageIdentifiers(message)) if (!identifiers.has(text)) identifiers.set(text, kind);
    for (const [text, kind] of identifiers) {
      const entry = counts.get(text) ?? { kind, messages: 0 };
      counts.set(text, entry);
      entry.messages += 1;
    }
  }
  return counts;
}

/** Words beside which an identifier stands in the source. A context that holds a needle has to show two of them. */
export function findAnchors(text: string, identifier: string): Set<string> {
  const anchors = new Set<string>();
  for (const at of takeFirst(findWhole(text, identifier))) {
    for (const word of wordsAround(text, at, identifier, SOURCE_REACH)) anchors.add(word);
  }
  return anchors;
}

export function isAnchored(text: string, identifier: string, anchors: ReadonlySet<string>): boolean {
  const needed = Math.min(MIN_ANCHORS, anchors.size);
  for (const at of takeFirst(findWhole(text, identifier))) {
    const near = wordsAround(text, at, identifier, CONTEXT_REACH);
    if ([...near].filter((word) => anchors.has(word)).length >= needed) return true;
  }
  return false;
}

const MIN_ANCHORS = 2;
const MAX_PLACES = 12;
/** Characters on each side that count as beside an identifier. */
const SOURCE_REACH = 60;
const CONTEXT_REACH = 80;
const IDENTIFIER_LIKE = /[\w.@/#$-]*[\d_/@.#$-][\w.@/#$-]*/g;
const ANCHOR_WORD = /\b[A-Za-z][a-z]{3,}\b/g;
const JSON_KEY = /"([A-Za-z_]+)"\s*:/g;
const EMPTY_WORDS: ReadonlySet<string> = new Set(
  (
    'this that with from have will your they been were what when which there their them then than into only also just some such ' +
    'more most over file line error true false null none text role user tool assistant'
  ).split(' '),
);

function* takeFirst(places: Iterable<number>): Generator<number> {
  let taken = 0;
  for (const place of places) {
    yield place;
    taken += 1;
    if (taken === MAX_PLACES) return;
  }
}

function wordsAround(text: string, at: number, identifier: string, reach: number): Set<string> {
  const near = text.slice(Math.max(0, at - reach), at + identifier.length + reach);
  const plain = near.split(identifier).join(' ').replace(IDENTIFIER_LIKE, ' ');
  const words = new Set<string>();
  for (const [word] of plain.matchAll(ANCHOR_WORD)) {
    if (!EMPTY_WORDS.has(word.toLowerCase())) words.add(word.toLowerCase());
  }
  for (const [, key = ''] of near.matchAll(JSON_KEY)) {
    for (const part of key.split('_')) if (part.length >= 4) words.add(part.toLowerCase());
  }
  return words;
}
