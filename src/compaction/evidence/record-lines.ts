import type { TextRecord } from './records.ts';

type ShownRecord = Pick<TextRecord, 'text' | 'line' | 'depth' | 'field' | 'index' | 'isKey'>;

export interface RecordLine<Shown extends ShownRecord> {
  readonly text: string;
  readonly first: Shown;
  /** True if records between the previous line and this line are left out. */
  readonly isApart: boolean;
}

export const GAP = '…';
const INDENT = '  ';

/**
 * Writes records as lines. `…` stands between records of a line that were not neighbours. Lines of nested objects are
 * indented. @param shown records in any order
 */
export function writeLines<Shown extends ShownRecord>(shown: readonly Shown[]): RecordLine<Shown>[] {
  const ordered = shown.toSorted((a, b) => a.line - b.line || a.index - b.index);
  const lines: RecordLine<Shown>[] = [];
  const least = Math.min(...shown.map(({ depth }) => depth));
  let last = Math.min(...shown.map(({ index }) => index)) - 1;
  let key: RecordLine<Shown> | undefined;
  for (let from = 0, to = 0; from < ordered.length; from = to) {
    const first = ordered[from] as Shown;
    while (ordered[to]?.line === first.line) to += 1;
    const own = ordered.slice(from, to);
    const line = writeLine(own);
    if (line === '') continue;
    const isApart = first.index > last + 1;
    last = Math.max(last, (own.at(-1) as Shown).index);
    // The key of a list comes before the first shown item of the list.
    if (key !== undefined && first.depth > key.first.depth)
      lines.push({ ...key, text: `${lines.pop()?.text}${isApart ? GAP : ' '}${line}` });
    else lines.push({ text: INDENT.repeat(first.depth - least) + line, first, isApart });
    key = own.length === 1 && first.isKey === true ? lines.at(-1) : undefined;
  }
  return lines;
}

function writeLine(own: readonly ShownRecord[]): string {
  const fields = own.filter(({ field }) => field !== undefined);
  if (fields.length > 0) {
    const key = own.find(({ field }) => field === undefined);
    return `${key?.text ?? ''}${writeFields(fields)}`;
  }
  let text = '';
  let before: ShownRecord | undefined;
  for (const record of own) {
    const isNext = before?.index === record.index - 1;
    const isApart = before !== undefined && (/\s$/.test(before.text) || /^\s/.test(record.text));
    text += before === undefined ? '' : isNext ? (isApart ? ' ' : '') : ` ${GAP} `;
    text += record.text.trim();
    before = record;
  }
  return text;
}

function writeFields(fields: readonly ShownRecord[]): string {
  let text = '';
  let next = 0;
  for (const record of fields) {
    const { at } = record.field as NonNullable<TextRecord['field']>;
    if (at > next) text += text === '' ? GAP : `,${GAP}`;
    else if (text !== '') text += ',';
    text += record.text;
    next = at + 1;
  }
  const { of, size } = (fields[0] as ShownRecord).field as NonNullable<TextRecord['field']>;
  const [open, close] = of === 'object' ? ['{', '}'] : ['[', ']'];
  return `${open}${text}${next < size ? '' : close}`;
}
