import type { DoneCall, WorkDone } from '../api/client/index.ts';
import { clipCell } from './table.ts';

/** A row of `turnfold describe`. A row without a name continues the row above. */
type Row = [name: string, what: string];

const MAX_FILES = 10;
const MAX_TASKS = 20;
const WIDTH = 86;

/** Writes what was done, in rows. Changes and calls that are newer come first. */
export function describeWork(work: WorkDone, now: number): Row[] {
  const { from, head, calls } = work;
  return [
    ...(from > 1 ? [['read', `messages ${from} to ${head}. The older messages are too many`] satisfies Row] : []),
    ...describeFiles(work.files),
    ...describeTests(work.tests, now),
    ...describeTasks(work.tasks),
    ['calls', describeCounts(calls)],
    ...describeLast('failed', calls.failed.last),
    ...describeLast('worked', calls.worked.last),
  ];
}

function describeFiles({ count, last }: WorkDone['files']): Row[] {
  const [first, ...others] = last.slice(0, MAX_FILES).map(({ path, by, seq }) => {
    const ways = by.map((way) => (way.count > 1 ? `${way.name} ×${way.count}` : way.name)).join(', ');
    return `${path} (${ways}), message ${seq}`;
  });
  if (first === undefined) return [];
  const more = count - 1 - others.length;
  return [
    ['changed', first],
    ...others.map((file): Row => ['', file]),
    ...(more > 0 ? [['', `and ${more} more`] satisfies Row] : []),
  ];
}

function describeTests(tests: WorkDone['tests'], now: number): Row[] {
  if (tests === undefined) return [];
  const age = `message ${tests.seq}, ${formatAge(now - tests.at)}${tests.isOld ? ', before the last change' : ''}`;
  return [
    ['tests', clipCell(tests.call, WIDTH)],
    ['', age],
    ...tests.lines.map((line): Row => ['', clipCell(line, WIDTH)]),
  ];
}

function describeTasks(tasks: WorkDone['tasks']): Row[] {
  if (tasks === undefined) return [];
  const { list, seq } = tasks;
  const closed = list.filter(({ isClosed }) => isClosed).length;
  const shown = list.slice(0, MAX_TASKS);
  const more = list.length - shown.length;
  return [
    ['tasks', `${closed} of ${list.length} closed, message ${seq}`],
    ...shown.map(({ text, status }): Row => ['', clipCell(`${status}: ${text}`, WIDTH)]),
    ...(more > 0 ? [['', `and ${more} more`] satisfies Row] : []),
  ];
}

function describeCounts({ worked, failed, unanswered }: WorkDone['calls']): string {
  if (worked.count + failed.count + unanswered === 0) return 'none';
  const open = unanswered === 0 ? '' : `, ${unanswered} without a result`;
  return `${worked.count} worked, ${failed.count} failed${open}`;
}

function describeLast(name: string, calls: readonly DoneCall[]): Row[] {
  return calls.map(
    ({ call, outcome, seq }, at): Row => [
      at === 0 ? name : '',
      `${clipCell(`${call} ⇒ ${outcome}`, WIDTH)}, message ${seq}`,
    ],
  );
}

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
] as const;

function formatAge(ms: number): string {
  const [unit, size] = UNITS.find(([, length]) => ms >= length) ?? [];
  return size === undefined ? 'less than a minute ago' : `${Math.floor(ms / size)} ${unit} ago`;
}
