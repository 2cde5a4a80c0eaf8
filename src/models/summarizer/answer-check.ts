import type { ModelAnswer } from '../../domain/model.ts';

/** What the model was given to summarize. */
export interface GivenSource {
  readonly tokens: number;
  /** what it may not simply repeat; an earlier record it may */
  readonly transcript: string;
}

/** Letters that are looked for as they are. Names and paths are shorter, most copied lines longer. */
const CHUNK_CHARS = 24;
/** A record quotes names and errors; one that is copied by half was not written. */
const MAX_ECHO = 0.5;
/** Of an answer, what is looked at for copied lines: each place of it is kept in a set. */
const ECHO_CHARS = 65_536;
/** A refusal says little besides. Longer texts may begin like one: a user who "cannot log in" is a goal. */
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

/** Why an answer is no summary; undefined where nothing speaks against it. */
export function findFault(
  { content, toolCalls, end }: ModelAnswer,
  answerTokens: number,
  source: GivenSource,
): string | undefined {
  if (toolCalls.length > 0) return 'called a tool';
  if (end === 'cut_off') return 'cut off';
  if (end === 'refusal' || isRefusal(content)) return 'declined';
  if (content.trim() === '') return 'empty';
  if (answerTokens >= source.tokens) return `${answerTokens} tokens, not smaller than its source of ${source.tokens}`;
  if (measureEcho(content.slice(0, ECHO_CHARS), source.transcript) > MAX_ECHO) return 'repeats the transcript';
  return undefined;
}

function isRefusal(text: string): boolean {
  const said = text.replace(/^[#*].*$/gm, '').trim();
  return said.length <= MAX_REFUSAL_CHARS && REFUSALS.some((pattern) => pattern.test(said));
}

/**
 * Share of a text that stands in another letter by letter. Linear in both: of the source, which may have megabytes, every chunk
 * is looked at once, side by side, and only those that the text holds anywhere are kept.
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
