import type { Fragment } from '../../compaction/evidence/ledger.ts';
import { GAP, type RecordLine, writeLines } from '../../compaction/evidence/record-lines.ts';
import { MARK, MARKS } from '../../compaction/evidence/summary-records.ts';
import { foldRecord } from './text.ts';

/** turnfold's own tags. Data cannot open or close them. */
const OWN_TAG = /<(?=[\s/]*(?:users|summary)\b)/gi;
/** Lines around an earlier summary. */
const FRAME = /^<\/?(?:summary|users)\b[^<>]*>$/;

/** One fragment of the source, as a summary shows it. */
export interface ShownFragment extends Fragment {
  readonly index: number;
  /** How a failed call ended: `exit code 1`. `stopped` for what the agent said until its turn was canceled. */
  readonly status: string | undefined;
  /** True for a text of an earlier summary, whose lines have marks of their own. */
  readonly isSummary: boolean;
  /** Set for words of a user or the system: their mark with the number of their message, and what the message has around them. */
  readonly person?: { readonly mark: string; readonly isCutBefore: boolean; readonly isCutBehind: boolean };
}

/** Renders fragments, which stand together by their texts. Lines of one text share a mark. */
export function renderLines(shown: readonly ShownFragment[]): string {
  const lines: string[] = [];
  for (let from = 0, to = 0; from < shown.length; from = to) {
    const { message, partIndex } = shown[from] as ShownFragment;
    while (shown[to]?.message === message && shown[to]?.partIndex === partIndex) to += 1;
    const folded = shown
      .slice(from, to)
      .map((fragment) => ({ ...fragment, text: fold(fragment.text) }))
      .filter(({ text }) => text !== '');
    for (const [at, line] of writeLines(folded).entries()) {
      const isMarked = line.first.isSummary && MARK.test(line.text);
      const before = lines.at(-1) ?? '';
      if (at > 0 && line.isApart && !isMarked && !before.endsWith(GAP)) lines[lines.length - 1] = `${before} ${GAP}`;
      lines.push(isMarked ? line.text : markLine(line, at > 0));
    }
    const isCut = folded.at(-1)?.person?.isCutBehind === true;
    if (isCut && lines.at(-1)?.endsWith(GAP) === false) lines.push(`${lines.pop()} ${GAP}`);
  }
  return lines.join('\n');
}

function fold(text: string): string {
  return foldRecord(text).replace(OWN_TAG, '&lt;');
}

/** A text that begins like a mark gets the mark of its own part, so that data cannot pose as another's words. */
function markLine({ text: line, first }: RecordLine<ShownFragment>, continues: boolean): string {
  const { part, owner, status, person } = first;
  const text = line.trimStart();
  if (continues && !MARK.test(text)) return line;
  // Only the start of a call names its tool.
  const mark = part === 'call' && owner >= 0 ? `${MARKS.call}${GAP} ` : (person?.mark ?? MARKS[part]);
  if (!continues && person?.isCutBefore === true) return `${mark}${GAP} ${text}`;
  return `${mark}${status === undefined ? '' : `${status}: `}${text}`;
}

/** Returns a line without the signs that a summary adds. */
export function withoutMark(line: string): string {
  const bare = line.replace(MARK, '');
  return bare.endsWith(GAP) ? bare.slice(0, -GAP.length).trimEnd() : bare;
}

export function isFrame(line: string): boolean {
  return FRAME.test(line.trim());
}
