import { countAlike, isWholeLine } from '../../compaction/evidence/alike-lines.ts';
import type { Fragment } from '../../compaction/evidence/ledger.ts';
import { GAP, type RecordLine, writeLines } from '../../compaction/evidence/record-lines.ts';
import { MARK, markSpeaker, SPEAKER_MARKS } from '../../compaction/evidence/summary-records.ts';
import { writeOutcome } from '../progress/calls.ts';
import { headFor } from './call-places.ts';
import type { SummarySource } from './summary-source.ts';
import { escapeTags, foldRecord } from './text.ts';

/** Minimum number of equal lines that are counted. */
const MIN_REPEATED = 3;

export interface ShownFragment extends Fragment {
  readonly index: number;
  /** `stopped`: the agent wrote the text before its turn was canceled. */
  readonly status: string | undefined;
  /** How the call ended that this fragment begins. */
  readonly outcome?: string | undefined;
  /** True for a line of an earlier summary, which already has a mark. */
  readonly isSummary: boolean;
  /** Such as ` (×36)` behind a line that stands for others. */
  readonly note?: string;
  readonly person?: { readonly mark: string; readonly isCutBefore: boolean; readonly isCutBehind: boolean };
}

export function renderLines(shown: readonly ShownFragment[]): string {
  const lines: string[] = [];
  for (let from = 0, to = 0; from < shown.length; from = to) {
    const { message, partIndex } = shown[from] as ShownFragment;
    while (shown[to]?.message === message && shown[to]?.partIndex === partIndex) to += 1;
    const first = lines.length;
    const folded = shown
      .slice(from, to)
      .map((fragment) => ({ ...fragment, text: fold(fragment.text) }))
      .filter(({ text }) => text !== '')
      .map((fragment) => ({ ...fragment, text: fragment.text + (fragment.note ?? '') }));
    for (const [at, line] of writeLines(folded).entries()) {
      const isMarked = line.first.isSummary && MARK.test(line.text);
      const isAfterGap = at > 0 && line.isApart && lines.at(-1)?.endsWith(GAP) === false;
      lines.push(isMarked ? line.text : markLine(line, { continues: at > 0, isAfterGap }));
    }
    const outcome = folded.find((fragment) => fragment.outcome !== undefined)?.outcome;
    if (outcome !== undefined && lines.length > first)
      lines[first] = `${lines[first]?.replace(/,$/, '')} ${fold(outcome)}`;
    const isCut = folded.at(-1)?.person?.isCutBehind === true;
    if (isCut && lines.at(-1)?.endsWith(GAP) === false) lines.push(`${lines.pop()} ${GAP}`);
  }
  return lines.join('\n');
}

function fold(text: string): string {
  return escapeTags(foldRecord(text));
}

/**
 * A continued line that looks marked gets a mark, too, so that data cannot pose as another author's words. A gap mark
 * stands before the line: behind a value, it would look like a part of the value.
 */
function markLine(
  { text: line, first }: RecordLine<ShownFragment>,
  { continues, isAfterGap }: { readonly continues: boolean; readonly isAfterGap: boolean },
): string {
  const { part, owner, status, person } = first;
  const bare = line.trimStart();
  const text = isAfterGap && !bare.startsWith(GAP) ? `${GAP} ${bare}` : bare;
  if (continues && !MARK.test(bare)) return line.slice(0, line.length - bare.length) + text;
  const mark = part === 'call' && owner >= 0 ? `${SPEAKER_MARKS.call}${GAP} ` : (person?.mark ?? SPEAKER_MARKS[part]);
  if (!continues && person?.isCutBefore === true) return `${mark}${GAP} ${text}`;
  return `${mark}${status === undefined ? '' : `${status}: `}${text}`;
}

/** Lists fragments in the order of events, each result after its call. @param briefs lines of calls, by their heads */
export function showFragments(
  source: SummarySource,
  chosen: readonly number[],
  briefs: ReadonlyMap<number, string> = new Map(),
): ShownFragment[] {
  const whole = new Set(chosen);
  const indexes = [...chosen, ...[...briefs.keys()].filter((head) => !whole.has(head))];
  const notes = notesOf(source, chosen);
  const placed = indexes.map((index) => ({
    at: placeOf(source, index),
    shown: { ...showFragment(source, index, whole.has(index) ? undefined : briefs.get(index)), ...notes.get(index) },
  }));
  placed.sort(
    (a, b) =>
      a.at - b.at ||
      Number(a.shown.part === 'result') - Number(b.shown.part === 'result') ||
      a.shown.index - b.shown.index,
  );
  return placed.map(({ shown }) => shown);
}

/** Counts the lines for which a line stands: repeated lines, and alike lines of which some are left out. */
function notesOf(
  { alike, repeated, ledger: { fragments } }: SummarySource,
  chosen: readonly number[],
): Map<number, { readonly note: string }> {
  const notes = new Map<number, { readonly note: string }>();
  const shown = new Map<number, number[]>();
  for (const index of chosen) {
    const group = alike.get(index);
    if (group !== undefined) shown.set(group.last, [...(shown.get(group.last) ?? []), index]);
    const times = repeated.get(index) ?? 0;
    if (times >= MIN_REPEATED && isWholeLine(fragments, index)) notes.set(index, { note: ` (×${times})` });
  }
  for (const own of shown.values()) {
    const last = Math.max(...own);
    const group = alike.get(last);
    if (group !== undefined && own.length < group.size) notes.set(last, { note: countAlike(group) });
  }
  return notes;
}

/** The values of a call stand under its head, before the lines of its result. */
function placeOf(source: SummarySource, index: number): number {
  const { part, message, partIndex } = source.ledger.fragments[index] as Fragment;
  if (part === 'call') return source.calls.firstOf.get(message)?.[partIndex] ?? index;
  return headFor(source, index) ?? index;
}

function showFragment(source: SummarySource, index: number, brief: string | undefined): ShownFragment {
  const { ledger, messages, calls } = source;
  const fragment = ledger.fragments[index] as Fragment;
  const { role, stopped } = messages[fragment.message] ?? {};
  const call = calls.placed.get(index);
  return {
    ...fragment,
    ...(brief !== undefined && { text: brief }),
    index,
    status: stopped === true && fragment.part !== 'result' ? 'stopped' : undefined,
    outcome: call && writeOutcome(call.made, call.outcome),
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
