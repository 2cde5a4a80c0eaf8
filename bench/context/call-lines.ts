import type { Message, ToolCall } from '../../src/domain/message.ts';
import { readLeaves } from '../../src/evaluation/quality/identifiers.ts';
import { fit, pieceOf } from './pieces.ts';
import { type CompactMessages, splitRounds, sumTokens, takeRounds } from './row.ts';

const TITLE = 'Before:';
const TITLE_TOKENS = pieceOf(`[user] ${TITLE}`).tokens;
/** Share of the budget for the newest rounds. The rest is for lines. */
const WINDOW_SHARE = 0.5;
const CALL_CHARS = 160;
const OUTCOME_CHARS = 120;
const REQUEST_CHARS = 400;

/**
 * One line for each call with its outcome and for each request of the user, and behind them the newest rounds whole. The
 * first request stays, then the newest lines. Forty lines of code that know what was done.
 */
export const callsAndWindow: CompactMessages = async (messages, maxTokens) => {
  const { lines, rest } = readLines(messages);
  const rounds = splitRounds(rest).toReversed();
  const cut = (window: readonly Message[], maxLines: number): string =>
    fitLines([...lines, ...writeLines(rest.slice(0, rest.length - window.length))], maxLines);
  const take = (tokens: number): Message[] => takeRounds(rounds, tokens).toReversed().flat();
  const first = take(WINDOW_SHARE * maxTokens);
  // A short history has few lines. The window takes the room that they leave.
  const used = pieceOf(cut(first, maxTokens - sumTokens(first))).tokens + TITLE_TOKENS;
  const newest = take(maxTokens - used);
  const kept = cut(newest, maxTokens - sumTokens(newest));
  return kept === '' ? newest : [{ role: 'user', content: `${TITLE}\n${kept}` }, ...newest];
};

function fitLines(lines: readonly string[], maxTokens: number): string {
  const pieces = lines.map(pieceOf);
  const order = [0, ...[...pieces.keys()].slice(1).toReversed()].slice(0, pieces.length);
  return fit(pieces, order, maxTokens - TITLE_TOKENS);
}

/** A context that goes on begins with the lines of the compaction before. */
function readLines(messages: readonly Message[]): { lines: readonly string[]; rest: readonly Message[] } {
  const [first, ...rest] = messages;
  if (first?.role !== 'user' || !first.content.startsWith(`${TITLE}\n`)) return { lines: [], rest: messages };
  return { lines: first.content.split('\n').slice(1), rest };
}

function writeLines(messages: readonly Message[]): string[] {
  const results = new Map(messages.map((message) => [message.toolCallId, message]));
  return messages.flatMap(({ role, content, toolCalls = [] }) => {
    if (role === 'user') return [`user: ${inOneLine(content, REQUEST_CHARS)}`];
    return toolCalls.map((call) => `→ ${describeCall(call)} ⇒ ${describeOutcome(results.get(call.id))}`);
  });
}

function describeCall(call: ToolCall): string {
  const values = readLeaves(call).map(({ key, value }) => `${key}: ${value}`);
  return inOneLine(`${call.name}(${values.join(', ')})`, CALL_CHARS);
}

function describeOutcome(result: Message | undefined): string {
  if (result === undefined) return 'no result';
  const text = inOneLine(result.content, OUTCOME_CHARS);
  return result.isError === true ? `ERROR ${text}` : text;
}

/** The beginning and the end of a longer text. */
function inOneLine(text: string, maxChars: number): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  const half = maxChars / 2;
  return line.length > maxChars ? `${line.slice(0, half)} … ${line.slice(-half)}` : line;
}
