import type { Message } from '../../domain/message.ts';
import { renderSummary } from '../../domain/summary.ts';
import type { ContextItem } from '../../domain/version.ts';
import { FIRST_TEXT } from '../../wire/arrange.ts';
import type { AddedText, MessageKind, Survivor } from './kinds/kind.ts';
import { CLOSING, type GivenPart, type ReadEntry, type Unit } from './read-given.ts';

interface WrittenFrom {
  readonly kind: MessageKind;
  readonly given: readonly unknown[];
  /** Entries of the log. The first entry has the seq 1. */
  readonly entries: readonly ReadEntry[];
  readonly items: readonly ContextItem[];
}

/**
 * Writes the context with the given objects for unchanged messages. The same context is always written in the same way.
 */
export function writeGiven({ kind, given, entries, items }: WrittenFrom): unknown[] {
  const writer = new ContextWriter(kind, given, givenCallIds(entries));
  for (const item of items) {
    const entry = entries[item.from - 1] as ReadEntry;
    // A given summary is a message of the log. Only a summary of this context has a segment.
    if (item.segment?.kind === 'summary') writer.addSummary(item);
    else writer.add(entry, item);
  }
  return writer.finish();
}

/** Maps call ids of the log to the caller's call ids. */
function givenCallIds(entries: readonly ReadEntry[]): ReadonlyMap<string, string> {
  const calls = entries.flatMap(({ message }) => message.toolCalls ?? []);
  return new Map(calls.flatMap(({ id, providerId }) => (providerId === undefined ? [] : [[id, providerId] as const])));
}

/** Adjacent messages of the context that belong to the same given parts. */
interface Run {
  readonly unit: Unit;
  readonly places: number[];
  readonly survivors: Survivor[];
}

interface Written {
  readonly value: unknown;
  readonly part?: GivenPart | undefined;
}

class ContextWriter {
  readonly #kind: MessageKind;
  readonly #given: readonly unknown[];
  readonly #callIds: ReadonlyMap<string, string>;
  readonly #written: Written[] = [];
  #run: Run | undefined;
  #hasSpeech = false;

  constructor(kind: MessageKind, given: readonly unknown[], callIds: ReadonlyMap<string, string>) {
    this.#kind = kind;
    this.#given = given;
    this.#callIds = callIds;
  }

  addSummary({ from, to, message }: ContextItem): void {
    this.#endRun();
    this.#hasSpeech = true;
    const { version } = message.summary ?? {};
    const id = `summary-${version ?? 0}-${from}-${to}`;
    const value =
      this.#kind.name === 'turnfold'
        ? message
        : this.#addUser(renderSummary(message.content, { from, to, version }), id);
    this.#written.push({ value });
  }

  add({ unit, place, isRepaired }: ReadEntry, { message, segment }: ContextItem): void {
    // Providers refuse a request whose first message is not a user message.
    if (!this.#hasSpeech && message.role !== 'system') {
      if (message.role === 'assistant') this.#written.push({ value: this.#addUser(FIRST_TEXT, 'summary-none') });
      this.#hasSpeech = true;
    }
    if (this.#run?.unit !== unit) this.#endRun();
    this.#run ??= { unit, places: [], survivors: [] };
    this.#run.places.push(place);
    this.#run.survivors.push({ message: this.#restoreIds(message), isChanged: isRepaired || segment !== undefined });
  }

  finish(): unknown[] {
    this.#endRun();
    return joinParts(this.#written, this.#kind, this.#given);
  }

  #addUser(text: string, id: string): unknown {
    const added: AddedText = { text, id, given: this.#given };
    return this.#kind.addUser(added);
  }

  #endRun(): void {
    const run = this.#run;
    if (run === undefined) return;
    this.#run = undefined;
    const { unit, survivors } = run;
    const { parts } = unit;
    if (isUnchanged(run, this.#kind.join !== undefined)) {
      this.#written.push(...parts.map((part) => ({ value: part.value, part })));
      this.#written.push(...this.#writeClosings(run).map((value) => ({ value })));
      return;
    }
    const values = parts.map(({ value }) => value);
    const shown = this.#kind.name === 'turnfold' ? survivors : survivors.map(frameSummary);
    const rewritten = this.#kind.rewrite(values, shown, this.#given);
    const isSplit = (parts[0]?.places ?? 1) > 1;
    this.#written.push(...rewritten.map((value) => ({ value, part: isSplit ? parts[0] : undefined })));
  }

  /** Writes the results that close calls of an unchanged message. */
  #writeClosings({ survivors, places }: Run): unknown[] {
    const closings = survivors.filter((_, index) => places[index] === CLOSING);
    if (closings.length === 0) return [];
    const others = survivors.filter((_, index) => places[index] !== CLOSING);
    const before = this.#kind.rewrite([], others, this.#given).length;
    return this.#kind.rewrite([], [...others, ...closings], this.#given).slice(before);
  }

  #restoreIds(message: Message): Message {
    const { toolCalls, toolCallId } = message;
    if (toolCallId !== undefined) return { ...message, toolCallId: this.#callIds.get(toolCallId) ?? toolCallId };
    if (toolCalls === undefined) return message;
    const calls = toolCalls.map(({ providerId, ...call }) => ({ ...call, id: providerId ?? call.id }));
    return { ...message, toolCalls: calls };
  }
}

/** Puts a shortened summary into its tags again, because a given summary must stay a summary. */
function frameSummary({ message, isChanged }: Survivor): Survivor {
  const { role, content, summary } = message;
  if (role !== 'summary' || summary === undefined) return { message, isChanged };
  return { message: { role: 'user', content: renderSummary(content, summary) }, isChanged: true };
}

/** True if the given message can be returned. In a format with parts, an added result becomes one of its parts. */
function isUnchanged({ unit, places, survivors }: Run, hasParts: boolean): boolean {
  const own = places.filter((place) => place !== CLOSING);
  const isWhole = own.length === unit.count && own.every((place, index) => place === index);
  const isChanged = survivors.some((survivor, index) => survivor.isChanged && places[index] !== CLOSING);
  return isWhole && !isChanged && !(hasParts && own.length < places.length);
}

/** Joins adjacent parts of one given message. If all its parts are unchanged, the given message itself is returned. */
function joinParts(written: readonly Written[], { join }: MessageKind, given: readonly unknown[]): unknown[] {
  const joined: unknown[] = [];
  const begun = new Set<number>();
  for (let at = 0; at < written.length; at += 1) {
    const { value, part } = written[at] as Written;
    if (join === undefined || part === undefined || part.places === 1) {
      joined.push(value);
      continue;
    }
    let end = at + 1;
    while (written[end]?.part?.index === part.index) end += 1;
    const own = written.slice(at, end);
    const original = given[part.index];
    const isWhole =
      own.length === part.places && own.every((one, nth) => one.part?.place === nth && one.part.value === one.value);
    joined.push(
      isWhole
        ? original
        : join(
            original,
            own.map((one) => one.value),
            begun.has(part.index),
          ),
    );
    begun.add(part.index);
    at = end - 1;
  }
  return joined;
}
