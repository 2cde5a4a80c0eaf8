import type { ToolContext } from '../../domain/agent.ts';
import { CallData, idOfData, readProgress, type ToolData } from '../../domain/tool-notes.ts';
import type { CallNote, NoteBatch } from '../../store/stream-entries.ts';
import { FLUSH_MS, type PieceStream } from './piece-stream.ts';

/** ms between two batches of notes. People cannot read faster, and a tool may report thousands of times a second. */
export const NOTES_MS = 2 * FLUSH_MS;

/** Functions that a running tool gets, and the values that it has emitted. */
export interface OpenNotes extends Pick<ToolContext, 'progress' | 'emit'> {
  readonly values: readonly ToolData[];
  /** Drops what was not sent, and everything that the tool reports later: its result is recorded with the values. */
  end(): void;
}

type NoteSender = Pick<PieceStream, 'sendNotes' | 'timers'>;

/**
 * Sends what the running tools of one round report to the readers of the turn. Only the last note of a kind is sent, so
 * a slow Redis and a turn without readers cost a note of memory each.
 */
export class CallNotes {
  readonly #stream: NoteSender;
  readonly #round: Omit<NoteBatch, 'notes'>;
  readonly #unsent = new Map<string, CallNote>();
  #pause: { stop(): void } | undefined;
  #isSending = false;
  #isClosed = false;

  constructor(stream: NoteSender, round: Omit<NoteBatch, 'notes'>) {
    this.#stream = stream;
    this.#round = round;
  }

  /** @param earlier values of an earlier run of the call, which readers have. A worker died in that run */
  open(call: string, earlier: readonly ToolData[] = []): OpenNotes {
    const data = new CallData(earlier);
    let hasEnded = false;
    return {
      progress: (given) => {
        const progress = readProgress(given);
        if (!hasEnded) this.#add(call, { call, progress });
      },
      emit: (name, given, key) => {
        if (hasEnded) return;
        const value = data.put(name, given, key);
        this.#add(`${call} ${idOfData(value)}`, { call, data: value });
      },
      get values() {
        return data.values;
      },
      end: () => {
        hasEnded = true;
        for (const [id, note] of this.#unsent) if (note.call === call) this.#unsent.delete(id);
      },
    };
  }

  close(): void {
    this.#isClosed = true;
    this.#pause?.stop();
  }

  #add(id: string, note: CallNote): void {
    // A note that replaces another takes the last place, so readers get the notes in order.
    this.#unsent.delete(id);
    this.#unsent.set(id, note);
    if (this.#pause === undefined && !this.#isSending) void this.#send();
  }

  /** At most one batch is in flight. */
  async #send(): Promise<void> {
    if (this.#isClosed || this.#unsent.size === 0) return;
    this.#isSending = true;
    const notes = [...this.#unsent];
    const forget = (): void => {
      for (const [id, note] of notes) if (this.#unsent.get(id) === note) this.#unsent.delete(id);
    };
    const pauseMs = await this.#stream.sendNotes({ ...this.#round, notes: notes.map(([, note]) => note) }, forget);
    this.#isSending = false;
    if (pauseMs === undefined) this.close();
    if (this.#isClosed || pauseMs === undefined) return;
    this.#pause = this.#stream.timers.after(Math.max(NOTES_MS, pauseMs), () => {
      this.#pause = undefined;
      void this.#send();
    });
  }
}
