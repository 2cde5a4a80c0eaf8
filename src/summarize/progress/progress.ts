import { endsSlice, type Interruptible } from '../../domain/interruptible.ts';
import type { Message } from '../../domain/message.ts';
import { describeOutcome, listMadeCalls, type MadeCall } from './calls.ts';
import { listChanges } from './file-changes.ts';
import { findTestSummary, mayRunTests } from './test-run.ts';
import { readTodoList, type TodoItem } from './todo-list.ts';

/** A file with all that changed it, by the index of the message with its last change. */
export interface ChangedFile {
  readonly path: string;
  /** How often each tool or program changed the file, in the order of its first change. */
  readonly by: ReadonlyMap<string, number>;
  readonly message: number;
}

export interface TestRun {
  readonly made: MadeCall;
  /** Lines of the result that count tests. */
  readonly lines: readonly string[];
  /** True if a file was changed since. */
  readonly isOld: boolean;
}

export interface TodoList {
  readonly items: readonly TodoItem[];
  readonly message: number;
}

/** Account of what was done and how it ended. Code reads all of it from the log, so a model cannot get it wrong. */
export interface LogProgress {
  readonly calls: readonly MadeCall[];
  /** Changed files, the newest change last. */
  readonly files: readonly ChangedFile[];
  readonly tests: TestRun | undefined;
  readonly todo: TodoList | undefined;
}

/**
 * Reads the progress of messages in one scan.
 * @param end index behind the last message whose changes, tests and tasks are returned, without what later messages
 *   changed or wrote again. So a summary states nothing of messages outside its range.
 */
export function* readLogProgress(messages: readonly Message[], end = messages.length): Interruptible<LogProgress> {
  const calls = listMadeCalls(messages);
  yield;
  const files = new Map<string, ChangedFile>();
  let run: Omit<TestRun, 'isOld'> | undefined;
  let todo: TodoList | undefined;
  let lastChange = -1;
  for (const [index, made] of calls.entries()) {
    if (endsSlice(index)) yield;
    const result = made.result === undefined ? undefined : (messages[made.result] as Message);
    const hasFailed = result !== undefined && describeOutcome(result).hasFailed;
    for (const { path, by } of listChanges(made.call, hasFailed)) {
      const ways = new Map(files.get(path)?.by);
      ways.set(by, (ways.get(by) ?? 0) + 1);
      // The newest change comes last.
      files.delete(path);
      files.set(path, { path, by: ways, message: made.message });
      lastChange = index;
    }
    const items = hasFailed ? [] : readTodoList(made.call);
    if (items.length > 0) todo = { items, message: made.message };
    const lines = result === undefined ? [] : findTestSummary(result.content);
    if (lines.length > 0 && mayRunTests(made.call)) run = { made, lines };
  }
  const tests = run && { ...run, isOld: lastChange > calls.indexOf(run.made) };
  return {
    calls,
    files: [...files.values()].filter(({ message }) => message < end),
    tests: tests !== undefined && tests.made.message < end ? tests : undefined,
    todo: todo !== undefined && todo.message < end ? todo : undefined,
  };
}
