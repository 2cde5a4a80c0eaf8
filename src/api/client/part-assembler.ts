import { callIdAt, seqOfCallId } from '../../domain/ids.ts';
import { type LogEntry, wholeReasoning } from '../../domain/message.ts';
import type {
  ModelCallKey,
  NoteBatch,
  PieceBatch,
  StreamEntry,
  StreamedCompaction,
} from '../../store/stream-entries.ts';
import type { StreamPage } from '../../store/streams.ts';
import type { TurnPart } from '../contract/turn-parts.ts';
import { findLastCalls, isEarlierCall, LiveMessage } from './live-message.ts';
import { NoteReader } from './note-reader.ts';
import { DeliveredMessage, type KnownMessage, type StreamPosition, writePosition } from './stream-position.ts';

type PartBody = TurnPart extends infer Part ? (Part extends TurnPart ? Omit<Part, 'id'> : never) : never;

const START: StreamPosition = { seq: 0, step: 0, version: 0 };
const FIRST_ENTRY = '0-0';

/**
 * Computes the parts that a reader of a turn still needs, from two sources. The log has every recorded message, but
 * only once its model step is complete. The stream has the pieces while the model writes, but pieces may be lost,
 * repeated, or of a model call that failed.
 *
 * So pieces are a preview, and the log decides. Each log entry completes the message that its pieces began, and at the
 * end the reader has the messages of the log (invariant I18). If the pieces belong to another model call than the
 * recorded one, a `restart` takes them back.
 *
 * A reader that comes back names its position in the log, because pieces behind a position in the stream may be gone.
 * For the open message, the position has counts and a hash (`stream-position.ts`). With them the reader gets the rest
 * of a message, or a `restart` if another text was recorded.
 *
 * `read` takes a page through three methods. `#addBatch` collects pieces in a `LiveMessage`. `#addLive` sends the part
 * of this message that the reader lacks. `#seal` completes it from the log.
 */
export class PartAssembler {
  #seq: number;
  #step: number;
  #version: number;
  #delivered: DeliveredMessage | undefined;
  #live: LiveMessage | undefined;
  #notes: NoteReader;
  #entry = FIRST_ENTRY;
  #parts: TurnPart[] = [];

  constructor({ seq, step, version, open }: StreamPosition = START) {
    this.#seq = seq;
    this.#step = step;
    this.#version = version;
    this.#notes = new NoteReader(seq);
    this.#delivered = open && new DeliveredMessage(undefined, open);
  }

  get place(): { readonly after: string; readonly afterSeq: number } {
    return { after: this.#entry, afterSeq: this.#seq };
  }

  get id(): string {
    const open = this.#delivered?.isEmpty === false ? this.#delivered.open : undefined;
    return writePosition({ seq: this.#seq, step: this.#step, version: this.#version, open });
  }

  read(page: StreamPage): { readonly parts: readonly TurnPart[]; readonly isBehind: boolean } {
    const hasShrunk = page.head < this.#seq;
    if (hasShrunk) this.#startAgain();
    else this.#readPage(page);
    return { parts: this.#take(), isBehind: hasShrunk || page.hasMoreEntries || page.hasMoreLog };
  }

  /** Ends the reading. A message that never reached the log is void. */
  end(): TurnPart[] {
    this.#void();
    return this.#take();
  }

  #take(): TurnPart[] {
    const parts = this.#parts;
    this.#parts = [];
    return parts;
  }

  #add(part: PartBody): void {
    this.#parts.push({ ...part, id: this.id });
  }

  #readPage({ start, entries, log, position, hasMoreEntries, hasMoreLog }: StreamPage): void {
    this.#seq = Math.max(this.#seq, start);
    const lastCalls = findLastCalls(entries.flatMap((entry) => ('batch' in entry ? [entry.batch] : [])));
    this.#notes.beginPage(entries, log);
    const left = [...log];
    const sealTo = (seq: number): void => {
      for (let next = left[0]; next !== undefined && next.seq <= seq; next = left[0]) {
        if (this.#live?.isStartOf(next.message) === true) this.#addLive(false);
        this.#seal(next);
        left.shift();
      }
    };
    for (const entry of entries) {
      const seqBefore = seqBeforeEntry(entry);
      sealTo(seqBefore);
      // The next page has the log entries that come before this stream entry.
      if (seqBefore > this.#seq && hasMoreLog) return;
      if ('batch' in entry) this.#addBatch(entry.batch, lastCalls);
      else if ('noted' in entry) this.#addNotes(entry.noted);
      else this.#addCompaction(entry.compaction);
      this.#entry = entry.id;
    }
    this.#entry = position;
    // Pieces of a message that the log has are skipped: they may be incomplete, or of a failed model call.
    if (left.length === 0 && !hasMoreLog) this.#addLive(!hasMoreEntries);
    if (!hasMoreEntries) sealTo(Number.POSITIVE_INFINITY);
  }

  /** Adds pieces to the open message, but none of an earlier model call than the last one on the page. */
  #addBatch(batch: PieceBatch, lastCalls: ReadonlyMap<number, ModelCallKey>): void {
    const last = lastCalls.get(batch.seq) ?? batch;
    const isVoid = isEarlierCall(batch, last) || (this.#live !== undefined && isEarlierCall(batch, this.#live.key));
    if (batch.seq !== this.#seq + 1 || isVoid) return;
    if (this.#live === undefined || isEarlierCall(this.#live.key, batch)) this.#live = new LiveMessage(batch);
    for (const piece of batch.pieces) this.#live.add(piece);
  }

  /** Adds notes of the step that is being read. Notes of other steps are skipped, because the log has their values. */
  #addNotes(batch: NoteBatch): void {
    if (batch.step !== this.#step) return;
    for (const note of batch.notes) for (const part of this.#notes.take(note, batch)) this.#add(part);
  }

  #addCompaction({ head: _, ...compaction }: StreamedCompaction): void {
    if (compaction.version <= this.#version) return;
    this.#addLive(false);
    this.#version = compaction.version;
    this.#add({ type: 'compaction', ...compaction });
  }

  /** @param isAll false if the stream may hold more pieces of this message */
  #addLive(isAll: boolean): void {
    const live = this.#live;
    if (live === undefined || !this.#continues(live, isAll)) return;
    this.#delivered ??= new DeliveredMessage(live.call);
    const delivered = this.#delivered;
    const step = this.#step + 1;
    const reasoning = delivered.takeReasoning(live.reasoning);
    if (reasoning !== '') this.#add({ type: 'reasoning', step, piece: reasoning });
    const text = delivered.takeText(live);
    if (text !== '') this.#add({ type: 'text', step, piece: text });
    this.#addCallPreviews(delivered, live);
  }

  #addCallPreviews(delivered: DeliveredMessage, live: LiveMessage): void {
    const step = this.#step + 1;
    for (;;) {
      const call = callIdAt(this.#seq + 1, delivered.open.calls - 1);
      const piece = delivered.takeArguments(live);
      if (piece !== '') this.#add({ type: 'tool-call-arguments', step, call, piece });
      const next = callIdAt(this.#seq + 1, delivered.open.calls);
      const name = delivered.takeStart(live);
      if (name === undefined) return;
      this.#add({ type: 'tool-call-start', step, call: next, name });
    }
  }

  /**
   * Voids what the reader has if the pieces are of another model call. After a resume, a hash in the position decides.
   * @returns false if there are too few pieces to compare
   */
  #continues(live: LiveMessage, isAll: boolean): boolean {
    const delivered = this.#delivered;
    if (delivered === undefined || delivered.call === live.call) return true;
    const compared = delivered.call === undefined ? delivered.compare(live) : 'other';
    if (compared === 'short' && (live.hasGap || !isAll)) return false;
    if (compared === 'same') delivered.call = live.call;
    else this.#void();
    return true;
  }

  #seal({ seq, message, turn = '' }: LogEntry): void {
    const {
      role,
      content,
      toolCalls: calls = [],
      toolCallId: call = '',
      isError = false,
      data = [],
      decision,
    } = message;
    const reasoning = wholeReasoning(message);
    const known = { text: content, calls, ...(reasoning !== undefined && { reasoning }) };
    if (role !== 'assistant' || this.#delivered?.compare(known) !== 'same') this.#void();
    if (role === 'assistant') this.#completeMessage(known, message);
    // A reader that resumes behind such a value still gets the result, so the value has the position before it.
    if (role === 'tool') for (const part of this.#notes.takeResult(call, data, this.#step)) this.#add(part);
    this.#seq = seq;
    this.#delivered = undefined;
    this.#live = undefined;
    if (role === 'assistant') this.#step += 1;
    if (role === 'tool') {
      const decided = decision !== undefined && { decision };
      this.#add({
        type: 'tool-result',
        step: this.#step,
        call,
        content,
        ...(message.parts && { parts: message.parts }),
        isError,
        ...decided,
      });
    }
    if (role === 'user') this.#add({ type: 'steering', step: this.#step, turn, seq, content });
  }

  #completeMessage(known: KnownMessage, { toolCalls: calls = [], reasoning: kept = '' }: LogEntry['message']): void {
    this.#delivered ??= new DeliveredMessage(undefined);
    const delivered = this.#delivered;
    const step = this.#step + 1;
    const reasoning = delivered.takeReasoning(kept);
    if (reasoning !== '') this.#add({ type: 'reasoning', step, piece: reasoning });
    const text = delivered.takeText(known);
    if (text !== '') this.#add({ type: 'text', step, piece: text });
    for (let at = delivered.takeComplete(known); at !== undefined; at = delivered.takeComplete(known)) {
      const { id: call = '', name = '', arguments: written = '' } = calls[at] ?? {};
      this.#add({ type: 'tool-call', step, call, name, arguments: written });
    }
  }

  #void(): void {
    const hadParts = this.#delivered?.isEmpty === false;
    this.#delivered = undefined;
    if (hadParts) this.#add({ type: 'restart', step: this.#step + 1 });
  }

  /** A failover lost log entries that the reader has, so the reader gets the turn from its start. */
  #startAgain(): void {
    this.#seq = 0;
    this.#step = 0;
    this.#entry = FIRST_ENTRY;
    this.#delivered = undefined;
    this.#live = undefined;
    this.#notes = new NoteReader(0);
    this.#add({ type: 'restart', step: 1 });
  }
}

/** Seq of the log entry that comes directly before a stream entry. */
function seqBeforeEntry(entry: StreamEntry): number {
  if ('batch' in entry) return entry.batch.seq - 1;
  if ('compaction' in entry) return entry.compaction.head;
  return Math.max(0, ...entry.noted.notes.map(({ call }) => seqOfCallId(call)));
}
