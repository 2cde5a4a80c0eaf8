import type { Message } from '../../src/domain/message.ts';
import { findWhole, holds, renderMessages } from '../../src/evaluation/quality/searchable-text.ts';
import { callsAndWindow } from './call-lines.ts';
import { fit, pieceOf } from './pieces.ts';
import type { BenchPoint } from './points.ts';
import { type CompactMessages, type Row, rowOfMessages, splitRounds, sumTokens, takeRounds, tokensOf } from './row.ts';
import { salienceAndWindow } from './salience.ts';

/** Shuffles the indexes of a list. Every run gives the same order. */
function shuffle(count: number): number[] {
  let state = 7_919;
  const keys = Array.from({ length: count }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state;
  });
  return [...keys.keys()].toSorted((a, b) => (keys[a] as number) - (keys[b] as number));
}

async function randomLines({ point }: BenchPoint, maxTokens: number): Promise<string> {
  const lines = renderMessages(point.source)
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map(pieceOf);
  return fit(lines, shuffle(lines.length), maxTokens);
}

const newestRounds: CompactMessages = async (messages, maxTokens) =>
  takeRounds(splitRounds(messages).toReversed(), maxTokens).toReversed().flat();

const CLIPPED_RESULT_CHARS = 800;
const HEAD_SHARE = 0.25;

/** Keeps the first and the last rounds, with long results clipped in the middle. */
const headAndTail: CompactMessages = async (messages, maxTokens) => {
  const rounds = splitRounds(messages.map(clipResult));
  const head = takeRounds(rounds, maxTokens * HEAD_SHARE);
  const left = maxTokens - sumTokens(head.flat());
  const tail = takeRounds(rounds.slice(head.length).toReversed(), left).toReversed();
  return [...head, ...tail].flat();
};

function clipResult(message: Message): Message {
  const { role, content } = message;
  if (role !== 'tool' || content.length <= CLIPPED_RESULT_CHARS) return message;
  const half = CLIPPED_RESULT_CHARS / 2;
  return { ...message, content: `${content.slice(0, half)} … ${content.slice(-half)}` };
}

/** Hides all results, drops the oldest rounds until the rest fits, then shows the newest results while they fit. */
const maskedResults: CompactMessages = async (messages, maxTokens) => {
  const masked = messages.map((message) =>
    message.role === 'tool' ? { ...message, content: '[output omitted]' } : message,
  );
  const kept = takeRounds(splitRounds(masked).toReversed(), maxTokens).flat().length;
  const first = masked.length - kept;
  let used = sumTokens(masked.slice(first));
  for (let at = masked.length - 1; at >= first; at -= 1) {
    const [hidden, whole] = [masked[at] as Message, messages[at] as Message];
    if (whole.role !== 'tool') continue;
    used += tokensOf(whole) - tokensOf(hidden);
    if (used > maxTokens) break;
    masked[at] = whole;
  }
  return masked.slice(first);
};

const ORACLE_REACH = 50;

/** Keeps fragments around the needles. It knows the future, so it shows what is possible. */
async function oracle({ point }: BenchPoint, maxTokens: number): Promise<string> {
  const fragments = new Set(point.needles.map(({ text }) => cutAround(point.sourceText, text)));
  const pieces = [...fragments].map(pieceOf);
  const worth = pieces.map(
    (piece) => point.needles.filter(({ text }) => holds(piece.text, text)).length / piece.tokens,
  );
  const order = [...pieces.keys()].toSorted((a, b) => (worth[b] as number) - (worth[a] as number));
  return fit(pieces, order, maxTokens);
}

/** The first place of an identifier with what stands beside it, in whole words. */
function cutAround(sourceText: string, identifier: string): string {
  const [at = 0] = findWhole(sourceText, identifier);
  const end = at + identifier.length;
  const before = sourceText.slice(Math.max(0, at - ORACLE_REACH), at).replace(/^\S*/, '');
  const after = sourceText.slice(end, end + ORACLE_REACH).replace(/\S*$/, '');
  return `${before}${identifier}${after}`.replaceAll('\n', ' ');
}

export const BASELINES: readonly Row[] = [
  { name: 'oracle', compact: oracle },
  { name: 'random lines', compact: randomLines },
  rowOfMessages('window', newestRounds),
  rowOfMessages('head+tail', headAndTail),
  rowOfMessages('mask', maskedResults),
  rowOfMessages('calls + window', callsAndWindow),
  rowOfMessages('salience + window', salienceAndWindow),
];
