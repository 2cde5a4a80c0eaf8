import type { ModelAnswer } from '../../domain/model.ts';

export interface SummarySource {
  readonly tokens: number;
  /**
   * Text that a summary may not merely copy: the messages that are summarized. Copying an earlier summary is allowed.
   */
  readonly transcript: string;
}

/**
 * Length of the pieces of text that are compared. Most names and paths are shorter, and most copied lines are longer.
 */
const CHUNK_CHARS = 24;
/**
 * Maximum share of copied text in a summary. A summary quotes names and errors, but above this share it is only a copy.
 */
const MAX_ECHO = 0.5;
/** Copied text is searched in this many characters of an answer. The limit bounds the memory of the search. */
const ECHO_CHARS = 65_536;
/**
 * Maximum length of a text that can count as a refusal. A longer text may start like a refusal and still be a summary:
 * "I cannot log in" is a user's goal.
 */
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

/** @returns why a model's answer cannot be used as a summary, or undefined if the answer may be a summary */
export function findAnswerFault(
  { content, toolCalls, end }: ModelAnswer,
  answerTokens: number,
  source: SummarySource,
): string | undefined {
  if (toolCalls.length > 0) return 'the model called a tool instead of writing a summary';
  if (end === 'cut_off') return 'the summary was cut off at the output limit';
  if (end === 'refusal' || isRefusal(content)) return 'the model declined to write a summary';
  if (content.trim() === '') return 'the summary is empty';
  if (answerTokens >= source.tokens)
    return `the summary has ${answerTokens} tokens, and the messages only ${source.tokens}`;
  if (measureEcho(content.slice(0, ECHO_CHARS), source.transcript) > MAX_ECHO)
    return 'the summary only repeats the messages';
  return undefined;
}

function isRefusal(text: string): boolean {
  const said = text.replace(/^[#*].*$/gm, '').trim();
  return said.length <= MAX_REFUSAL_CHARS && REFUSALS.some((pattern) => pattern.test(said));
}

/**
 * Returns the share of a text that is copied byte for byte from a source. The source may have megabytes. Its pieces
 * therefore do not overlap, and only pieces that occur in the text are kept, so that time grows linearly.
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
