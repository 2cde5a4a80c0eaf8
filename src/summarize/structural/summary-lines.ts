import type { Fragment } from '../../compaction/evidence/ledger.ts';
import { GAP, type RecordLine, writeLines } from '../../compaction/evidence/record-lines.ts';
import { MARK, markSpeaker, SPEAKER_MARKS } from '../../compaction/evidence/summary-records.ts';
import { headFor } from './call-places.ts';
import type { SummarySource } from './summary-source.ts';
import { foldRecord } from './text.ts';

/** Start of a tag that is escaped, so that data cannot open or close turnfold's own tags. */
const OWN_TAG = /<(?=[\s/]*(?:users|summary)\b)/gi;

export interface ShownFragment extends Fragment {
  readonly index: number;
  /** Such as `exit code 1` of a failed call. `stopped`: the agent wrote the text before its turn was canceled. */
  readonly status: string | undefined;
  /** True for a line of an earlier summary, which already has a mark. */
  readonly isSummary: boolean;
  readonly person?: { readonly mark: string; readonly isCutBefore: boolean; readonly isCutBehind: boolean };
}

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

/** A continued line that looks marked gets a mark, too, so that data cannot pose as another author's words. */
function markLine({ text: line, first }: RecordLine<ShownFragment>, continues: boolean): string {
  const { part, owner, status, person } = first;
  const text = line.trimStart();
  if (continues && !MARK.test(text)) return line;
  const mark = part === 'call' && owner >= 0 ? `${SPEAKER_MARKS.call}${GAP} ` : (person?.mark ?? SPEAKER_MARKS[part]);
  if (!continues && person?.isCutBefore === true) return `${mark}${GAP} ${text}`;
  return `${mark}${status === undefined ? '' : `${status}: `}${text}`;
}

/**
 * Lists fragments in the order of events, each result after its call. A failed call is always shown with its status.
 */
export function showFragments(source: SummarySource, chosen: readonly number[]): ShownFragment[] {
  const { ledger, calls } = source;
  const placed = chosen.map((index) => ({ at: headFor(source, index) ?? index, shown: showFragment(source, index) }));
  const shownMessages = new Set(placed.map(({ shown }) => shown.message));
  const shownIndexes = new Set(chosen);
  for (const [message, status] of calls.failures) {
    const head = calls.headOf.get(message);
    if (head === undefined || !shownIndexes.has(head) || shownMessages.has(message)) continue;
    const place = { message, part: 'result', partIndex: 0, start: 0, end: 0, owner: -1, line: 0, depth: 0 } as const;
    const shown = {
      ...place,
      terms: [],
      text: status,
      status: undefined,
      isSummary: false,
      index: ledger.fragments.length,
    };
    placed.push({ at: head, shown });
  }
  placed.sort((a, b) => a.at - b.at || a.shown.index - b.shown.index);
  return placed.map(({ shown }) => shown);
}

function showFragment(source: SummarySource, index: number): ShownFragment {
  const { ledger, messages, calls } = source;
  const fragment = ledger.fragments[index] as Fragment;
  const { role, stopped } = messages[fragment.message] ?? {};
  const said = stopped === true ? 'stopped' : undefined;
  return {
    ...fragment,
    index,
    status: fragment.part === 'result' ? calls.failures.get(fragment.message) : said,
    isSummary: role === 'summary',
    ...(fragment.part === 'user' && { person: quotePerson(source, fragment) }),
  };
}

function quotePerson({ messages, firstSeq }: SummarySource, { message, start, end }: Fragment) {
  const { role, content = '' } = messages[message] ?? {};
  return {
    mark: markSpeaker(role === 'system' ? 'system' : 'user', firstSeq + message),
    isCutBefore: content.slice(0, start).trim() !== '',
    isCutBehind: content.slice(end).trim() !== '',
  };
}
