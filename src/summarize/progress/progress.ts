import { endsSlice, type Interruptible } from '../../domain/interruptible.ts';
import type { Message } from '../../domain/message.ts';
import { describeOutcome, listMadeCalls, type MadeCall, nameCall } from './calls.ts';
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
  /** Tool and target of the call. */
  readonly call: string;
  /** Lines of the result that count tests. */
  readonly lines: readonly string[];
  readonly message: number;
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

/** Maximum number of changed files. A single command may name 500,000 files. */
const MAX_FILES = 2_000;
const COMMAND_CHARS = 100;

/** Collects what calls did. Calls are noted in the order of the log. */
export class ProgressNotes {
  todo: TodoList | undefined;
  readonly #files = new Map<string, ChangedFile>();
  #run: Omit<TestRun, 'isOld'> | undefined;
  #isChangedSince = false;

  /** Changed files, the newest change last. Above 2,000 files, the oldest changes are left out. */
  get files(): readonly ChangedFile[] {
    return [...this.#files.values()];
  }

  get tests(): TestRun | undefined {
    return this.#run && { ...this.#run, isOld: this.#isChangedSince };
  }

  note({ call, message }: Pick<MadeCall, 'call' | 'message'>, content: string | undefined, hasFailed: boolean): void {
    for (const { path, by } of listChanges(call, hasFailed)) {
      this.#noteChange(detach(path), detach(by), message);
      this.#isChangedSince = true;
    }
    const items = hasFailed ? [] : readTodoList(call);
    if (items.length > 0) this.todo = { items, message };
    const lines = content === undefined ? [] : findTestSummary(content);
    if (lines.length === 0 || !mayRunTests(call)) return;
    this.#run = { call: nameCall(call, COMMAND_CHARS).text, lines: lines.map(detach), message };
    this.#isChangedSince = false;
  }

  #noteChange(path: string, by: string, message: number): void {
    const ways = new Map(this.#files.get(path)?.by);
    ways.set(by, (ways.get(by) ?? 0) + 1);
    // The newest change comes last.
    this.#files.delete(path);
    this.#files.set(path, { path, by: ways, message });
    if (this.#files.size > MAX_FILES) this.#files.delete(this.#files.keys().next().value ?? '');
  }
}

/** Copies a text. A slice of a text keeps the whole text in memory, which may be a result of 1 MiB. */
function detach(text: string): string {
  return Buffer.from(text.toWellFormed()).toString();
}

/**
 * Reads the progress of messages in one scan.
 * @param end index behind the last message whose changes, tests and tasks are returned, without what later messages
 *   changed or wrote again. So a summary states nothing of messages outside its range.
 */
export function* readLogProgress(messages: readonly Message[], end = messages.length): Interruptible<LogProgress> {
  const calls = listMadeCalls(messages);
  yield;
  const notes = new ProgressNotes();
  for (const [index, made] of calls.entries()) {
    if (endsSlice(index)) yield;
    const result = made.result === undefined ? undefined : (messages[made.result] as Message);
    notes.note(made, result?.content, result !== undefined && describeOutcome(result).hasFailed);
  }
  const { files, tests, todo } = notes;
  return {
    calls,
    files: files.filter(({ message }) => message < end),
    tests: tests !== undefined && tests.message < end ? tests : undefined,
    todo: todo !== undefined && todo.message < end ? todo : undefined,
  };
}
