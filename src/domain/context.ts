import { TurnfoldError } from './errors.ts';
import { addWeights, type LogEntry, type Message, NO_WEIGHT, type Weight } from './message.ts';
import type { Checkpoint, CheckpointSegment, Version } from './version.ts';

/**
 * One thing the model is sent, with the seqs that it stands for: a log message (`from` equals `to`) or a checkpoint. What
 * a plan is made over.
 */
export interface ContextItem extends Weight {
  readonly from: number;
  readonly to: number;
  readonly message: Message;
  /** where the item is a checkpoint of the version: its segment */
  readonly segment?: CheckpointSegment;
}

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
  /** entries of the raw segments and of everything behind `version.base` up to `head`, ascending */
  readonly entries: readonly LogEntry[];
  readonly checkpoints: ReadonlyMap<string, Checkpoint>;
}

/** Seq ranges whose entries a context needs, ascending. */
export function rangesToRead(version: Version, head: number): { from: number; to: number }[] {
  const ranges = version.segments.filter((segment) => segment.kind === 'raw').map(({ from, to }) => ({ from, to }));
  return head > version.base ? [...ranges, { from: version.base + 1, to: head }] : ranges;
}

/** Builds the context that `version` describes at `head`. Pure: the same source gives the same context byte for byte. */
export function buildContext(source: ContextSource): Context {
  const { version, head, checkpoints } = source;
  const bySeq = new Map(source.entries.map((entry) => [entry.seq, entry]));
  const items: ContextItem[] = [];
  for (const segment of version.segments) {
    if (segment.kind === 'raw') pushEntries(items, bySeq, segment.from, segment.to);
    else if (segment.kind === 'checkpoint') items.push(checkpointItem(segment, checkpoints.get(segment.text)));
  }
  pushEntries(items, bySeq, version.base + 1, head);
  return { version, head, items };
}

/** Every entry of a log as a context without any version: what an offline plan is made over. */
export function contextOfLog(entries: readonly LogEntry[], version: Version): Context {
  return buildContext({ version, head: entries.at(-1)?.seq ?? 0, entries, checkpoints: new Map() });
}

export function weighItems(items: readonly Weight[]): Weight {
  return items.reduce<Weight>((sum, item) => addWeights(sum, item), NO_WEIGHT);
}

function pushEntries(items: ContextItem[], bySeq: ReadonlyMap<number, LogEntry>, from: number, to: number): void {
  for (let seq = from; seq <= to; seq += 1) {
    const entry = bySeq.get(seq);
    if (entry === undefined) throw new TurnfoldError('not_found', `log entry ${seq} is missing`, { details: { seq } });
    items.push({ from: seq, to: seq, message: entry.message, tokens: entry.tokens, bytes: entry.bytes });
  }
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
