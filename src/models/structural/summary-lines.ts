import type { Part } from '../../domain/evidence/fragments.ts';
import type { Fragment } from '../../domain/evidence/ledger.ts';
import { foldLine } from './text.ts';

/** Signs at the start of a line that say who speaks. Lines without a sign continue the line before. */
const MARKS: Readonly<Record<Part, string>> = { user: 'user: ', statement: 'agent: ', call: '→ ', result: '← ' };
const MARK = /^(?:user: |agent: |→ |← )/;
/** turnfold's own tags. Data cannot open or close them. */
const OWN_TAG = /<(?=[\s/]*(?:users|summary)\b)/gi;
/** Lines around an earlier summary. */
const FRAME = /^<\/?(?:summary|users)\b[^<>]*>$/;

/** One fragment of the source, as a summary shows it. */
export interface ShownFragment extends Fragment {
  /** How a failed call ended: `exit code 1`. `stopped` for what the agent said until its turn was canceled. */
  readonly status: string | undefined;
  /** True for a text of an earlier summary, whose lines have marks of their own. */
  readonly isSummary: boolean;
}

/** Renders fragments in their order. Fragments of one text share a mark, pieces of one line are joined again. */
export function renderLines(shown: readonly ShownFragment[]): string {
  const lines: string[] = [];
  let before: ShownFragment | undefined;
  for (const fragment of shown) {
    const text = foldLine(fragment.text).replace(OWN_TAG, '&lt;');
    if (text === '') continue;
    const continues = before?.message === fragment.message && before.partIndex === fragment.partIndex;
    if (continues && before?.end === fragment.start) {
      const isApart = /\s$/.test(before.text) || /^\s/.test(fragment.text);
      lines.push(`${lines.pop() ?? ''}${isApart ? ' ' : ''}${text}`);
    } else lines.push(markLine(fragment, text, continues));
    before = fragment;
  }
  return lines.join('\n');
}

/** A text that begins like a mark gets the mark of its own part, so that data cannot pose as another's words. */
function markLine({ part, start, status, isSummary }: ShownFragment, text: string, continues: boolean): string {
  const hasMark = MARK.test(text);
  if (isSummary && hasMark) return text;
  if (continues && !hasMark) return text;
  // Only the start of a call names its tool.
  const mark = part === 'call' && start > 0 ? `${MARKS.call}… ` : MARKS[part];
  return `${mark}${status === undefined ? '' : `${status}: `}${text}`;
}

export function withoutMark(line: string): string {
  return line.replace(MARK, '');
}

export function isFrame(line: string): boolean {
  return FRAME.test(line.trim());
}
