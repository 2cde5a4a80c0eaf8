import { seqOfCallId } from '../../domain/ids.ts';
import type { LogEntry } from '../../domain/message.ts';
import { idOfData, type ToolData } from '../../domain/tool-notes.ts';
import type { CallNote, NoteBatch, StreamEntry } from '../../store/stream-entries.ts';
import type { DataPart, ProgressPart } from '../contract/turn-parts.ts';

type NotePart = Omit<ProgressPart, 'id'> | Omit<DataPart, 'id'>;

/**
 * Chooses the notes of tool calls that a reader still needs. A note of the stream counts while its call runs. The
 * result in the log has the last values, so a late reader gets each value once, and no progress.
 */
export class NoteReader {
  /** Seq of the last log entry that the reader had at its start. */
  readonly #start: number;
  readonly #answered = new Set<string>();
  /** Values that the reader has, as JSON. */
  readonly #known = new Map<string, string>();
  #last = new Map<string, CallNote>();

  constructor(start: number) {
    this.#start = start;
  }

  /** Begins a page. `take` then skips notes that a later note of the page replaces, and notes of calls with a result. */
  beginPage(entries: readonly StreamEntry[], log: readonly LogEntry[]): void {
    const notes = entries.flatMap((entry) => ('noted' in entry ? entry.noted.notes : []));
    this.#last = new Map(notes.map((note) => [nameNote(note), note]));
    for (const { message } of log) if (message.toolCallId !== undefined) this.#answered.add(message.toolCallId);
  }

  take(note: CallNote, { step, calls }: NoteBatch): NotePart[] {
    const { call } = note;
    // A reader that resumes behind all results of the step has the values.
    if (this.#start >= seqOfCallId(call) + calls) return [];
    if (this.#answered.has(call) || this.#last.get(nameNote(note)) !== note) return [];
    return 'progress' in note ? [{ type: 'progress', step, call, ...note.progress }] : this.#takeValue(note, step);
  }

  takeResult(call: string, values: readonly ToolData[], step: number): NotePart[] {
    return values.flatMap((data) => this.#takeValue({ call, data }, step));
  }

  #takeValue({ call, data }: { readonly call: string; readonly data: ToolData }, step: number): NotePart[] {
    const id = nameNote({ call, data });
    const json = JSON.stringify(data);
    if (this.#known.get(id) === json) return [];
    this.#known.set(id, json);
    return [{ type: 'data', step, call, ...data }];
  }
}

function nameNote(note: CallNote): string {
  return 'data' in note ? `${note.call} ${idOfData(note.data)}` : note.call;
}
