import type { Interruptible } from '../../domain/interruptible.ts';
import { type LogEntry, NO_WEIGHT, type ToolCall, type Weight } from '../../domain/message.ts';
import { foldLine } from '../structural/text.ts';
import { type CallOutcome, describeOutcome, nameCall, UNANSWERED } from './calls.ts';
import { type ChangedFile, ProgressNotes } from './progress.ts';
import { isClosed } from './todo-list.ts';

/** Place of a call in the log. */
export interface WorkPlace {
  /** Position (seq) of the message with the call. */
  readonly seq: number;
  /** Time of the write, in ms since epoch. */
  readonly at: number;
}

export interface DoneCall extends WorkPlace {
  /** Tool and target in one line. */
  readonly call: string;
  /** `ok`, `ok: paid` or `✗ exit code 2: make: stop`. */
  readonly outcome: string;
}

export interface DoneCalls {
  /** Number of all calls. */
  readonly count: number;
  /** Newest first, at most 5. */
  readonly last: readonly DoneCall[];
}

/** Work of the agent, read by code from the calls of the log and their results. */
export interface WorkDone {
  /** Position (seq) of the first message that was read. Above 1, older messages were not read. */
  readonly from: number;
  /** Position (seq) of the last message that was read. */
  readonly head: number;
  /** Calls by their outcome. */
  readonly calls: {
    /** Calls with a result that states no failure. */
    readonly worked: DoneCalls;
    /** Calls whose result is an error or states one. */
    readonly failed: DoneCalls;
    /** Number of calls without a result. Some wait for it, and the turn of the others ended before it. */
    readonly unanswered: number;
  };
  /** Files that tools and shell commands changed. */
  readonly files: {
    /** Number of changed files, at most 2,000. */
    readonly count: number;
    /** Newest change first, at most 50. */
    readonly last: readonly {
      /** Path, as the call named it. */
      readonly path: string;
      /** Position (seq) of the call with the last change. */
      readonly seq: number;
      /** Tools and programs that changed the file, at most 8. */
      readonly by: readonly {
        /** Tool, or program of a command line, such as `sed -i`. */
        readonly name: string;
        /** Number of its changes. */
        readonly count: number;
      }[];
    }[];
  };
  /** Last run that counted tests. Absent if no run did. */
  readonly tests?: WorkPlace & {
    /** Tool and target in one line. */
    readonly call: string;
    /** Lines that count tests, at most 3. */
    readonly lines: readonly string[];
    /** True if a file was changed since. */
    readonly isOld: boolean;
  };
  /** Last list of tasks in a call. Absent without one. */
  readonly tasks?: WorkPlace & {
    /** At most 60, in the order of the agent. */
    readonly list: readonly {
      /** Text, at most 160 characters. */
      readonly text: string;
      /** Status, as the agent wrote it. */
      readonly status: string;
      /** True for a status such as `completed` or `canceled`. */
      readonly isClosed: boolean;
    }[];
  };
}

const LIMITS = { calls: 5, files: 50, ways: 8, openCalls: 1_000 } as const;
const CALL_CHARS = 100;
const TASK_CHARS = 160;

interface OpenCall extends WorkPlace {
  readonly call: ToolCall;
}

interface EndedCall extends OpenCall {
  readonly outcome: CallOutcome;
}

/** Reads what was done from a log that grows. No message is kept, so that a long log takes little memory. */
export class WorkReader {
  /** Position (seq) of the last message that was read. */
  head: number;
  /** Size of the log up to `head`. */
  total: Weight = NO_WEIGHT;
  readonly #from: number;
  readonly #open = new Map<string, OpenCall>();
  readonly #notes = new ProgressNotes();
  readonly #worked = new LastCalls();
  readonly #failed = new LastCalls();
  #unanswered = 0;
  #tests: WorkPlace | undefined;
  #tasks: WorkPlace | undefined;

  /** @param from position (seq) of the first message to read */
  constructor(from: number) {
    this.#from = from;
    this.head = from - 1;
  }

  get isBegun(): boolean {
    return this.head >= this.#from;
  }

  /** Reads the messages behind `head`. A result whose call was not read is ignored. */
  *read(entries: readonly LogEntry[]): Interruptible<void> {
    for (const entry of entries) {
      this.#readEntry(entry);
      yield;
    }
    this.#worked.write();
    this.#failed.write();
    this.head = entries.at(-1)?.seq ?? this.head;
    this.total = entries.at(-1)?.total ?? this.total;
  }

  #readEntry({ seq, at, message }: LogEntry): void {
    for (const call of message.toolCalls ?? []) this.#open.set(call.id, { call, seq, at });
    while (this.#open.size > LIMITS.openCalls) this.#open.delete(this.#open.keys().next().value ?? '');
    const made = message.toolCallId === undefined ? undefined : this.#open.get(message.toolCallId);
    if (made === undefined) return;
    this.#open.delete(made.call.id);
    const outcome = describeOutcome(message);
    if (outcome === UNANSWERED) {
      this.#unanswered += 1;
      return;
    }
    (outcome.hasFailed ? this.#failed : this.#worked).add({ ...made, outcome });
    const { tests, todo } = this.#notes;
    this.#notes.note({ call: made.call, message: made.seq }, message.content, outcome.hasFailed);
    if (this.#notes.tests?.lines !== tests?.lines) this.#tests = { seq: made.seq, at };
    if (this.#notes.todo !== todo) this.#tasks = { seq: made.seq, at };
  }

  show(): WorkDone {
    const { files, tests, todo } = this.#notes;
    return {
      from: this.#from,
      head: this.head,
      calls: {
        worked: this.#worked.show(),
        failed: this.#failed.show(),
        unanswered: this.#unanswered + this.#open.size,
      },
      files: { count: files.length, last: files.slice(-LIMITS.files).toReversed().map(showFile) },
      ...(tests &&
        this.#tests && {
          tests: { ...this.#tests, call: tests.call, lines: tests.lines.map(foldLine), isOld: tests.isOld },
        }),
      ...(todo && this.#tasks && { tasks: { ...this.#tasks, list: todo.items.map(showTask) } }),
    };
  }
}

/** Counts calls, and keeps the last of them. */
class LastCalls {
  #count = 0;
  #written: readonly DoneCall[] = [];
  #ended: EndedCall[] = [];

  add(call: EndedCall): void {
    this.#count += 1;
    this.#ended.push(call);
    if (this.#ended.length > LIMITS.calls) this.#ended.shift();
  }

  /** Writes the lines of the last calls. Until then their arguments are kept, which may have 1 MiB. */
  write(): void {
    const lines = this.#ended.map(
      ({ call, seq, at, outcome }): DoneCall => ({
        seq,
        at,
        call: nameCall(call, CALL_CHARS).text,
        outcome: outcome.text,
      }),
    );
    this.#written = [...this.#written, ...lines].slice(-LIMITS.calls);
    this.#ended = [];
  }

  show(): DoneCalls {
    return { count: this.#count, last: this.#written.toReversed() };
  }
}

function showFile({ path, by, message }: ChangedFile): WorkDone['files']['last'][number] {
  const ways = [...by].slice(0, LIMITS.ways).map(([name, count]) => ({ name, count }));
  return { path: foldLine(path), seq: message, by: ways };
}

type Task = NonNullable<WorkDone['tasks']>['list'][number];

function showTask({ text, status }: { readonly text: string; readonly status: string }): Task {
  return { text: foldLine(text.slice(0, TASK_CHARS)), status: foldLine(status), isClosed: isClosed(status) };
}
