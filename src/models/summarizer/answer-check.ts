import type { ModelAnswer } from '../../domain/model.ts';

export interface SummarySource {
  readonly tokens: number;
  /** Text that the answer may not copy. An answer may copy an earlier record. */
  readonly transcript: string;
}

/** Characters that are compared at once. Names and paths are shorter, most copied lines longer. */
const CHUNK_CHARS = 24;
/** Largest share of copied text. A record quotes names and errors, but above this share it is a copy. */
const MAX_ECHO = 0.5;
/** Number of characters of an answer that are checked for copies, which bounds the memory of the check. */
const ECHO_CHARS = 65_536;
/** Longest refusal. A longer text may start like a refusal and be a record: "I cannot log in" is a user's goal. */
const MAX_REFUSAL_CHARS = 400;
const TASK = '(?:help|assist|summari[sz]e|comply|provide|process|continue|write|create|do (?:that|this|so))';
const REFUSALS = [
  new RegExp(
    `\\bI(?:['’]m| am)? ?(?:can(?:not|['’]t| not)|won['’]t|will not|(?:not able|unable) to) (?:\\w+ )?${TASK}\\b`,
    'i',
  ),
  /^(?:I['’]m|I am) (?:very )?sorry\b|^sorry,|^as an AI\b/i,
  /^(?:es )?tut mir leid\b|^ich kann (?:dabei|dir|ihnen|das|diese\w*|leider) .*nicht\b/i,
  /^(?:je suis )?désolée?\b|^je ne (?:peux|suis) pas\b/i,
  /^lo siento\b|^no puedo (?:ayudar|resumir|continuar|hacer|proporcionar)/i,
  /^(?:desculpe|sinto muito)\b|^não posso (?:ajudar|resumir|continuar)/i,
  /^(?:很?抱歉|对不起|對不起|我(?:无法|無法|不能))/,
  /^(?:申し訳|すみません)/,
];

/** @returns why an answer is no record, or undefined if it may be one */
export function findAnswerFault(
  { content, toolCalls, end }: ModelAnswer,
  answerTokens: number,
  source: SummarySource,
): string | undefined {
  if (toolCalls.length > 0) return 'the model called a tool';
  if (end === 'cut_off') return 'the answer was cut off';
  if (end === 'refusal' || isRefusal(content)) return 'the model declined';
  if (content.trim() === '') return 'the answer was empty';
  if (answerTokens >= source.tokens) return `${answerTokens} tokens, not smaller than the source of ${source.tokens}`;
  if (measureEcho(content.slice(0, ECHO_CHARS), source.transcript) > MAX_ECHO)
    return 'the answer repeats the transcript';
  return undefined;
}

function isRefusal(text: string): boolean {
  const said = text.replace(/^[#*].*$/gm, '').trim();
  return said.length <= MAX_REFUSAL_CHARS && REFUSALS.some((pattern) => pattern.test(said));
}

/**
 * Share of a text that is copied from another byte for byte. Linear in both texts: the source may have megabytes, so
 * its chunks do not overlap, and only chunks found in the text are kept.
 */
function measureEcho(text: string, source: string): number {
  const said = new Set<string>();
  for (let at = 0; at + CHUNK_CHARS <= text.length; at += 1) said.add(text.slice(at, at + CHUNK_CHARS));
  const shared = new Set<string>();
  for (let at = 0; at + CHUNK_CHARS <= source.length; at += CHUNK_CHARS) {
    const chunk = source.slice(at, at + CHUNK_CHARS);
    if (said.has(chunk)) shared.add(chunk);
  }
  let copied = 0;
  for (let at = 0; at + CHUNK_CHARS <= text.length; ) {
    const isCopied = shared.has(text.slice(at, at + CHUNK_CHARS));
    if (isCopied) copied += CHUNK_CHARS;
    at += isCopied ? CHUNK_CHARS : 1;
  }
  return text.length === 0 ? 0 : copied / text.length;
}
