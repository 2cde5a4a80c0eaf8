import type { Message } from '../../src/domain/message.ts';
import { findWhole, holds, renderMessage, renderMessages } from '../../src/evaluation/quality/searchable-text.ts';
import { type BenchPoint, countTokens } from './points.ts';

/** Makes a text of at most `budget` tokens from the source of a point. */
export type Baseline = (bench: BenchPoint, budget: number) => string;

interface Piece {
  readonly text: string;
  readonly tokens: number;
}

function pieceOf(text: string): Piece {
  return { text, tokens: countTokens(text) + 1 };
}

/** Takes pieces in the order of `order` while they fit, and returns them in their own order. */
function fit(
  pieces: readonly Piece[],
  order: readonly number[],
  budget: number,
  { stopsAtFirst = false } = {},
): string {
  const taken: number[] = [];
  let left = budget;
  for (const index of order) {
    const { tokens } = pieces[index] as Piece;
    if (tokens <= left) {
      left -= tokens;
      taken.push(index);
    } else if (stopsAtFirst) break;
  }
  return taken
    .toSorted((a, b) => a - b)
    .map((index) => (pieces[index] as Piece).text)
    .join('\n');
}

/** A message without calls, or an assistant message with its results. */
function splitRounds(messages: readonly Message[]): Message[][] {
  const rounds: Message[][] = [];
  for (const message of messages) {
    const last = rounds.at(-1);
    if (message.role === 'tool' && last !== undefined) last.push(message);
    else rounds.push([message]);
  }
  return rounds;
}

/** The same order on every machine. */
function shuffle(count: number): number[] {
  let state = 7_919;
  const keys = Array.from({ length: count }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state;
  });
  return [...keys.keys()].toSorted((a, b) => (keys[a] as number) - (keys[b] as number));
}

const random: Baseline = ({ point }, budget) => {
  const lines = renderMessages(point.source)
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map(pieceOf);
  return fit(lines, shuffle(lines.length), budget);
};

const newestRounds: Baseline = ({ point }, budget) => {
  const rounds = splitRounds(point.source).map((round) => pieceOf(renderMessages(round)));
  return fit(rounds, [...rounds.keys()].toReversed(), budget, { stopsAtFirst: true });
};

const CLIPPED_RESULT_CHARS = 800;
const HEAD_SHARE = 0.25;

/** The first and the last rounds, with long results clipped. */
const headAndTail: Baseline = ({ point }, budget) => {
  const rounds = splitRounds(point.source.map(clipResult)).map((round) => pieceOf(renderMessages(round)));
  const head = fit(rounds, [...rounds.keys()], budget * HEAD_SHARE, { stopsAtFirst: true });
  const tail = fit(rounds, [...rounds.keys()].toReversed(), budget - countTokens(head) - 1, { stopsAtFirst: true });
  return `${head}\n${tail}`;
};

function clipResult(message: Message): Message {
  const { role, content } = message;
  if (role !== 'tool' || content.length <= CLIPPED_RESULT_CHARS) return message;
  const half = CLIPPED_RESULT_CHARS / 2;
  return { ...message, content: `${content.slice(0, half)} … ${content.slice(-half)}` };
}

/** Old results are replaced by a note, the newest are shown again while they fit, the oldest rounds go. */
const maskedResults: Baseline = ({ point }, budget) => {
  const masked = point.source.map((message) =>
    message.role === 'tool' ? { ...message, content: '[output omitted]' } : message,
  );
  const sizes = masked.map((message) => pieceOf(renderMessage(message)).tokens);
  let used = sizes.reduce((sum, tokens) => sum + tokens, 0);
  let first = 0;
  while (used > budget && first < masked.length) {
    do {
      used -= sizes[first] ?? 0;
      first += 1;
    } while (masked[first]?.role === 'tool');
  }
  for (let at = masked.length - 1; at >= first; at -= 1) {
    const whole = point.source[at] as Message;
    if (whole.role !== 'tool') continue;
    used += pieceOf(renderMessage(whole)).tokens - (sizes[at] ?? 0);
    if (used > budget) break;
    masked[at] = whole;
  }
  return renderMessages(masked.slice(first));
};

const ORACLE_REACH = 50;

/** Fragments around the needles: it knows the future. */
const oracle: Baseline = ({ point }, budget) => {
  const fragments = new Set(
    point.needles.map(({ text }) => {
      const [at = 0] = findWhole(point.sourceText, text);
      return point.sourceText
        .slice(Math.max(0, at - ORACLE_REACH), at + text.length + ORACLE_REACH)
        .replaceAll('\n', ' ');
    }),
  );
  const pieces = [...fragments].map(pieceOf);
  const worth = pieces.map(
    (piece) => point.needles.filter(({ text }) => holds(piece.text, text)).length / piece.tokens,
  );
  const order = [...pieces.keys()].toSorted((a, b) => (worth[b] as number) - (worth[a] as number));
  return fit(pieces, order, budget);
};

export const BASELINES: Readonly<Record<string, Baseline>> = {
  random,
  window: newestRounds,
  'head+tail': headAndTail,
  mask: maskedResults,
  oracle,
};
