import type { TokenCounter } from '../../wire/tokens/token-counter.ts';
import { type Room, shareOf } from '../structural/call-choice.ts';
import { escapeTags, foldLine } from '../structural/text.ts';
import type { ChangedFile, LogProgress, TestRun, TodoList } from './progress.ts';
import { isClosed } from './todo-list.ts';

/** Starts of the lines in front of a summary. Code writes these lines, and data cannot pose as them. */
const PROGRESS_MARKS = { files: 'changed: ', tests: 'tests: ', todo: 'todo: ' } as const;

type Counter = Pick<TokenCounter, 'countSync'>;

/** Room of the lines in front, which grows with the summary. */
const FRONT: Room = { most: 400, half: 1_000 };
/** Minimum tokens of a summary with lines in front. In a smaller summary they would displace the calls. */
const MIN_FRONT_TOKENS = 160;
const MAX_TEXT_CHARS = 160;
const MORE_TOKENS = 12;

/** Writes the lines in front of a summary by code or by a model. @param maxTokens limit of the whole summary */
export function writeFront(counter: Counter, progress: LogProgress, maxTokens: number): string[] {
  if (maxTokens < MIN_FRONT_TOKENS) return [];
  return writeProgress(counter, progress, shareOf(maxTokens, FRONT)).map(escapeTags);
}

/**
 * Writes test counts, changed files and the list of tasks within a size. Test counts are short and come first. Files
 * changed last and tasks that are open stay longest.
 */
export function writeProgress(counter: Counter, { files, tests, todo }: LogProgress, maxTokens: number): string[] {
  let left = maxTokens;
  const take = (lines: readonly string[]): readonly string[] => {
    const tokens = lines.reduce((sum, line) => sum + counter.countSync(line) + 1, 0);
    if (lines.length === 0 || tokens > left) return [];
    left -= tokens;
    return lines;
  };
  const run = tests === undefined ? [] : take(writeTests(tests));
  const changed = take(writeFiles(counter, files, left));
  const tasks = todo === undefined ? [] : take(writeTodo(counter, todo, left));
  return [...changed, ...run, ...tasks];
}

function writeTests({ call, lines, isOld }: TestRun): string[] {
  const age = isOld ? ', before the last change' : '';
  return [`${PROGRESS_MARKS.tests}${call}${age}`, ...lines.map(foldLine)];
}

function writeFiles(counter: Counter, files: readonly ChangedFile[], maxTokens: number): string[] {
  const shown: string[] = [];
  let left = maxTokens - MORE_TOKENS;
  for (const { path, by } of files.toReversed()) {
    const ways = [...by].map(([way, count]) => (count > 1 ? `${way} ×${count}` : way)).join(', ');
    const said = foldLine(`${path} (${ways})`);
    left -= counter.countSync(said) + 1;
    if (left < 0) break;
    shown.unshift(said);
  }
  if (shown.length === 0) return [];
  const more = files.length - shown.length;
  return [`${PROGRESS_MARKS.files}${more === 0 ? '' : `${more} more, `}${shown.join(', ')}`];
}

function writeTodo(counter: Counter, { items }: TodoList, maxTokens: number): string[] {
  const lines = items.map(({ text, status }) => `  ${foldLine(text).slice(0, MAX_TEXT_CHARS)}: ${foldLine(status)}`);
  const sizes = lines.map((line) => counter.countSync(line) + 1);
  let tokens = sizes.reduce((sum, size) => sum + size, MORE_TOKENS);
  const isShown = lines.map(() => true);
  for (const [at, { status }] of items.entries()) {
    if (tokens <= maxTokens) break;
    if (!isClosed(status)) continue;
    isShown[at] = false;
    tokens -= sizes[at] as number;
  }
  if (tokens > maxTokens) return [];
  const shown = lines.filter((_, at) => isShown[at]);
  const closed = lines.length - shown.length;
  const count = `${items.length} ${items.length === 1 ? 'task' : 'tasks'}`;
  return [`${PROGRESS_MARKS.todo}${count}${closed === 0 ? '' : `, ${closed} closed`}`, ...shown];
}
