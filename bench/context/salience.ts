import { findIdentifiers } from '../../src/evaluation/quality/identifiers.ts';
import { renderMessages } from '../../src/evaluation/quality/searchable-text.ts';
import { fit, type Piece, pieceOf } from './pieces.ts';
import { type CompactMessages, splitRounds, sumTokens, takeRounds } from './row.ts';

const TITLE = 'Lines before:';
/** Share of the budget for lines. The rest is for the newest rounds. */
const LINES_SHARE = 0.6;

/** Lines with many names for their size, and behind them the newest rounds whole. */
export const salienceAndWindow: CompactMessages = async (messages, maxTokens) => {
  const window = takeRounds(splitRounds(messages).toReversed(), (1 - LINES_SHARE) * maxTokens);
  const newest = window.toReversed().flat();
  const older = renderMessages(messages.slice(0, messages.length - newest.length));
  const lines = [...new Set(older.split('\n').filter((line) => line.trim() !== '' && line !== TITLE))].map(pieceOf);
  const left = maxTokens - sumTokens(newest) - pieceOf(`[user] ${TITLE}`).tokens;
  const kept = fit(lines, rank(lines), left);
  return kept === '' ? newest : [{ role: 'user', content: `${TITLE}\n${kept}` }, ...newest];
};

/** Indexes of lines by names per token, where a name counts once. A name in many lines is worth more. */
function rank(lines: readonly Piece[]): number[] {
  const names = lines.map(({ text }) => [...findIdentifiers(text).keys()]);
  const counts = new Map<string, number>();
  for (const name of names.flat()) counts.set(name, (counts.get(name) ?? 0) + 1);
  const worthOf = (index: number, left: ReadonlySet<string>): number =>
    (names[index] as string[]).reduce(
      (sum, name) => sum + (left.has(name) ? 1 + Math.log(counts.get(name) ?? 1) : 0),
      0,
    ) / (lines[index] as Piece).tokens;
  const open = new Set(counts.keys());
  const first = lines.map((_, index) => worthOf(index, open));
  const order = [...lines.keys()].toSorted((one, other) => (first[other] as number) - (first[one] as number));
  const worth = new Map<number, number>();
  for (const index of order) {
    worth.set(index, worthOf(index, open));
    for (const name of names[index] as string[]) open.delete(name);
  }
  return order.toSorted((one, other) => (worth.get(other) ?? 0) - (worth.get(one) ?? 0));
}
