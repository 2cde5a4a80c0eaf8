import { clipMessage } from './compaction/clip.ts';
import { maskedItem } from './compaction/mask.ts';
import type { ContextItem } from './context-item.ts';
import { TurnfoldError } from './errors.ts';
import { addWeights, type LogEntry, type Message, NO_WEIGHT, type Weight } from './message.ts';
import type { Checkpoint, CheckpointSegment, ClippedSegment, Segment, Version } from './version.ts';

export type { ContextItem } from './context-item.ts';

/** What a conversation's next request holds, besides the agent's system prompt and tools. */
export interface Context {
  readonly version: Version;
  /** the last seq of the log that it holds */
  readonly head: number;
  readonly items: readonly ContextItem[];
}

/** The log and the checkpoints behind a context, as a store read them. */
export interface ContextSource {
  readonly version: Version;
  readonly head: number;
  /** entries of every segment that shows some, and of everything behind `version.base` up to `head`, ascending */
  readonly entries: readonly LogEntry[];
  readonly checkpoints: ReadonlyMap<string, Checkpoint>;
}

/** What stands for its messages without them. */
const WITHOUT_ENTRIES: ReadonlySet<Segment['kind']> = new Set(['checkpoint', 'evicted']);

/** Seq ranges whose entries a context needs, ascending, neighbours joined. */
export function rangesToRead(version: Version, head: number): { from: number; to: number }[] {
  const ranges: { from: number; to: number }[] = [];
  const tail = { kind: 'raw' as const, from: version.base + 1, to: head };
  for (const { kind, from, to } of [...version.segments, tail]) {
    if (WITHOUT_ENTRIES.has(kind) || to < from) continue;
    const last = ranges.at(-1);
    if (last?.to === from - 1) last.to = to;
    else ranges.push({ from, to });
  }
  return ranges;
}

/** Builds the context that `version` describes at `head`. Pure: the same source gives the same context byte for byte. */
export function buildContext(source: ContextSource): Context {
  const { version, head, checkpoints } = source;
  const log = new LogReader(source.entries);
  const items = version.segments.flatMap((segment): ContextItem[] => {
    switch (segment.kind) {
      case 'raw':
        return log.read(segment.from, segment.to).map(itemOf);
      case 'masked':
        return log.read(segment.from, segment.to).map((entry) => maskedItem(entry, entry.seq));
      case 'clipped':
        return log.read(segment.from, segment.to).map((entry) => clippedItem(entry, segment));
      case 'checkpoint':
        return [checkpointItem(segment, checkpoints.get(segment.text))];
      case 'evicted':
        return [];
    }
  });
  return { version, head, items: items.concat(log.read(version.base + 1, head).map(itemOf)) };
}

/** Every entry of a log as a context without any version: what an offline plan is made over. */
export function contextOfLog(entries: readonly LogEntry[], version: Version): Context {
  return buildContext({ version, head: entries.at(-1)?.seq ?? 0, entries, checkpoints: new Map() });
}

export function messagesOf({ items }: Pick<Context, 'items'>): Message[] {
  return items.map(({ message }) => message);
}

export function weighItems(items: readonly Weight[]): Weight {
  return items.reduce<Weight>((sum, item) => addWeights(sum, item), NO_WEIGHT);
}

class LogReader {
  readonly #bySeq: ReadonlyMap<number, LogEntry>;

  constructor(entries: readonly LogEntry[]) {
    this.#bySeq = new Map(entries.map((entry) => [entry.seq, entry]));
  }

  /** @throws not_found where one is missing */
  read(from: number, to: number): LogEntry[] {
    const entries: LogEntry[] = [];
    for (let seq = from; seq <= to; seq += 1) {
      const entry = this.#bySeq.get(seq);
      if (entry === undefined)
        throw new TurnfoldError('not_found', `log entry ${seq} is missing`, { details: { seq } });
      entries.push(entry);
    }
    return entries;
  }
}

function itemOf({ seq, message, tokens, bytes }: LogEntry): ContextItem {
  return { from: seq, to: seq, message, tokens, bytes };
}

function clippedItem({ seq, message }: LogEntry, segment: ClippedSegment): ContextItem {
  const clipped = clipMessage(message, segment.keepChars, seq);
  return { from: seq, to: seq, message: clipped, ...segment.weight, segment, logged: message };
}

function checkpointItem(segment: CheckpointSegment, checkpoint: Checkpoint | undefined): ContextItem {
  if (checkpoint === undefined) {
    throw new TurnfoldError('not_found', `text of the checkpoint over ${segment.from}…${segment.to} is missing`);
  }
  const { from, to, version } = segment;
  const { text, raw } = checkpoint;
  const label = { from, to, version };
  const message: Message = {
    role: 'checkpoint',
    content: text,
    checkpoint: label,
    ...(raw === undefined ? {} : { raw }),
  };
  return { from, to, message, ...segment.weight, segment };
}
