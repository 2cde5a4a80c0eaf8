import type { ModelAnswer } from '../../domain/model.ts';

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
  sourceTokens: number,
): string | undefined {
  if (toolCalls.length > 0) return 'the model called a tool instead of writing a summary';
  if (end === 'cut_off') return 'the summary was cut off at the output limit';
  if (end === 'refusal' || isRefusal(content)) return 'the model declined to write a summary';
  if (content.trim() === '') return 'the summary is empty';
  if (answerTokens >= sourceTokens)
    return `the summary has ${answerTokens} tokens, and the messages only ${sourceTokens}`;
  return undefined;
}

function isRefusal(text: string): boolean {
  const said = text.replace(/^[#*].*$/gm, '').trim();
  return said.length <= MAX_REFUSAL_CHARS && REFUSALS.some((pattern) => pattern.test(said));
}
