import type { Message } from '../../../src/domain/message.ts';
import { findIdentifiers, readLeaves } from '../../../src/evaluation/quality/identifiers.ts';
import { holds, renderMessage } from '../../../src/evaluation/quality/searchable-text.ts';

/** A question of an agent about its own past. The log has the answer, and the question does not contain the answer. */
export interface Question {
  readonly form: string;
  readonly query: string;
  readonly answer: string;
  /** Words that stand beside the answer in the log. Two of them must stand beside it in what the tool returns. */
  readonly beside: readonly string[];
}

export type Language = 'en' | 'es' | 'zh' | 'ja';

/** Writes one question in each language from named texts. */
export type Wording = Readonly<Record<Language, (parts: Readonly<Record<string, string>>) => string>>;

/** Words that carry no topic. Questions are written without them, as their own frame has enough of them. */
const FRAME = new Set(
  (
    'about|after|again|all|also|and|any|are|been|before|being|but|can|could|did|does|doing|done|each|for|from|get|had|has|have|her|him|his|how|' +
    'into|its|just|like|let|make|many|more|most|much|need|not|now|off|one|only|other|our|out|over|own|please|same|she|should|some|such|than|that|' +
    'the|their|them|then|there|these|they|this|those|through|too|under|until|use|used|using|very|want|was|way|were|what|when|where|which|while|who|' +
    'why|will|with|would|you|your|yes|okay|sure|thank|thanks|first|next|last|con|como|cual|del|desde|donde|ella|ellos|esta|este|esto|hay|las|los|' +
    'mas|muy|nos|para|pero|por|que|quien|ser|sin|sobre|son|sus|una|unas|unos'
  ).split('|'),
);
const segmenter = new Intl.Segmenter('ja', { granularity: 'word' });
const WIDE = /[\u3040-\u30ff\u3400-\u9fff]/;
const MIN_CHARS = 3;
const MIN_WIDE_CHARS = 2;

/** Words of a text that carry its topic, in order, each once. */
export function topicWords(text: string): string[] {
  const words = new Set<string>();
  for (const { segment, isWordLike } of segmenter.segment(text.slice(0, 4_000))) {
    const word = segment.toLowerCase();
    if (isWordLike !== true || FRAME.has(word) || /^\d+$/.test(word)) continue;
    if (word.length >= (WIDE.test(word) ? MIN_WIDE_CHARS : MIN_CHARS) && !/^[\u3040-\u309f]+$/.test(word))
      words.add(word);
  }
  return [...words];
}

export function languageOf(text: string): Language {
  if (/[\u3040-\u30ff]/.test(text)) return 'ja';
  if (WIDE.test(text)) return 'zh';
  return /[¿¡ñ]|\b(?:que|para|por|los|una)\b/.test(text) ? 'es' : 'en';
}

/** A fixed order that looks random, so that every run asks the same questions. */
export function hash(text: string): number {
  let value = 2_166_136_261;
  for (let at = 0; at < text.length; at += 1) value = Math.imul(value ^ text.charCodeAt(at), 16_777_619);
  return (value ^ (value >>> 15)) >>> 0;
}

/** Takes `count` topic words of a text in their order, from a place that depends on the seed. No word is a part of the answer. */
export function pickTopic(text: string, count: number, answer: string, isBent = false): string {
  const own = answer.toLowerCase();
  const words = topicWords(text).filter((word) => !own.includes(word) && !word.includes(own));
  const from = words.length <= count ? 0 : hash(text) % (words.length - count + 1);
  const taken = words.slice(from, from + count);
  return (isBent ? taken.map(bend) : taken).join(WIDE.test(text) ? '' : ' ');
}

/** Another form of an English word, because a question seldom repeats a word in the form of the log. */
function bend(word: string): string {
  if (!/^[a-z]{5,}$/.test(word)) return word;
  if (word.endsWith('ing')) return word.slice(0, -3);
  if (word.endsWith('ed')) return `${word.slice(0, -2)}ing`;
  if (word.endsWith('s')) return word.slice(0, -1);
  return word.endsWith('e') ? `${word.slice(0, -1)}ing` : `${word}s`;
}

export function sentencesOf(text: string): string[] {
  return text.split(/(?<=[.!?。！？])\s*|\n+/u).filter((sentence) => sentence.trim() !== '');
}

/** Words close to the first place of the answer. */
export function besideOf(text: string, answer: string, reach = 100): string[] {
  const at = text.indexOf(answer);
  const near = `${text.slice(Math.max(0, at - reach), at)} ${text.slice(at + answer.length, at + answer.length + reach)}`;
  return topicWords(near).filter((word) => !answer.toLowerCase().includes(word));
}

/** Names, paths and numbers of a text, or its words if it has none. */
export function answersIn(text: string): string[] {
  const identifiers = [...findIdentifiers(text)].filter(([found]) => found.length < 60).map(([found]) => found);
  if (identifiers.length > 0) return identifiers;
  return topicWords(text)
    .filter((word) => word.length >= (WIDE.test(word) ? MIN_WIDE_CHARS : 5))
    .map((word) => originalOf(text, word));
}

function originalOf(text: string, word: string): string {
  const at = text.toLowerCase().indexOf(word);
  return at === -1 ? word : text.slice(at, at + word.length);
}

export interface Source {
  readonly messages: readonly Message[];
  readonly texts: readonly string[];
  /** Messages of the source that hold the text. */
  readonly countOf: (text: string) => number;
}

export function readSource(messages: readonly Message[]): Source {
  const texts = messages.map(renderMessage);
  const counts = new Map<string, number>();
  const countOf = (text: string): number => {
    const count = counts.get(text) ?? texts.filter((one) => holds(one, text)).length;
    counts.set(text, count);
    return count;
  };
  return { messages, texts, countOf };
}

/** A name in the log as words: `order_status` is `order status`. */
export function spaced(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/[_\-.]+/g, ' ')
    .trim()
    .toLowerCase();
}

export interface Round {
  readonly statement: string;
  readonly name: string;
  /** Values of the call's arguments. */
  readonly values: readonly string[];
  readonly result: Message;
}

/** Calls of a source with their results. */
export function roundsOf({ messages }: Source): Round[] {
  const results = new Map(
    messages.flatMap((message) => (message.toolCallId === undefined ? [] : [[message.toolCallId, message]])),
  );
  return messages.flatMap(({ content, toolCalls = [] }) =>
    toolCalls.flatMap((call) => {
      const result = results.get(call.id);
      const values = readLeaves(call).map(({ value }) => value);
      return result === undefined ? [] : [{ statement: content, name: call.name, values, result }];
    }),
  );
}

export interface ReadRecord {
  readonly text: string;
  readonly values: readonly (readonly [key: string, value: string])[];
}

/** Objects of JSON results with two plain values or more. */
export function recordsOf({ messages }: Source): ReadRecord[] {
  const records: ReadRecord[] = [];
  for (const { role, content } of messages) {
    if (role !== 'tool' || !/^\s*[[{]/.test(content)) continue;
    const open: unknown[] = [tryRead(content)];
    while (open.length > 0 && records.length < 2_000) {
      const value = open.pop();
      if (typeof value !== 'object' || value === null) continue;
      open.push(...Object.values(value));
      if (Array.isArray(value)) continue;
      const values = Object.entries(value).flatMap(([key, own]) =>
        typeof own === 'string' || typeof own === 'number' ? [[key, String(own)] as const] : [],
      );
      if (values.length >= 2) records.push({ text: values.map((pair) => pair.join(' ')).join(' '), values });
    }
  }
  return records;
}

function tryRead(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
