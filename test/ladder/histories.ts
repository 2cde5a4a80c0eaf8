import * as fc from 'fast-check';
import type { Message } from '../../src/domain/message.ts';
import { WIRE_FORMATS } from '../../src/domain/raw-items.ts';
import { histories, isOpenAtEndOnly } from '../wire/histories.ts';

/** Indexes of the pinned and the droppable messages of a chunk. */
interface Marks {
  readonly pinned: readonly number[];
  readonly droppable: readonly number[];
}

const marks: fc.Arbitrary<Marks> = fc.record({
  pinned: fc.array(fc.nat(40), { maxLength: 1 }),
  droppable: fc.array(fc.nat(12), { maxLength: 3 }),
});

/** Random histories with parallel calls, late results, thinking, images, old summaries and unusual characters. */
const odd = oddHistories(true);
/** The same, but the last calls have no result yet. */
const unresolved = oddHistories(false);

function oddHistories(isSendable: boolean): fc.Arbitrary<Message[]> {
  return fc
    .tuple(
      fc.constantFrom(...WIRE_FORMATS).chain((format) => histories(format, { isSendable })),
      marks,
    )
    .map(([{ messages }, { pinned, droppable }]) =>
      messages.map((message, position) => ({
        ...message,
        ...(pinned.includes(position) && { pinned: true }),
        ...(droppable.includes(position) && { droppable: true }),
      })),
    );
}

/**
 * Turns of an agent that uses tools. Each is large enough for a summary, and contains words and ids that a summary can
 * name.
 */
const worked: fc.Arbitrary<Message[]> = fc
  .tuple(fc.integer({ min: 1, max: 6 }), fc.integer({ min: 1, max: 3 }), fc.integer({ min: 5, max: 250 }))
  .map(([turns, rounds, words]) => Array.from({ length: turns }, (_, turn) => workOn(turn, rounds, words)).flat());

/** One message that is larger than most values of maxTokens. */
const huge: fc.Arbitrary<Message[]> = fc
  .tuple(fc.constantFrom('user', 'assistant', 'tool'), fc.integer({ min: 500, max: 12_000 }))
  .map(([role, words]) => {
    const content = prose(words, words);
    if (role === 'user') return [{ role, content }];
    if (role === 'assistant') return [{ role, content }];
    return [makeCall('h', { path: prose(20, words) }), { role: 'tool', content, toolCallId: 'h' }];
  });

const part = fc.oneof({ weight: 4, arbitrary: odd }, { weight: 4, arbitrary: worked }, { weight: 1, arbitrary: huge });

/** A conversation in chunks. Each chunk is appended before a compaction pass, and ends only where a log could end. */
export const chunks: fc.Arbitrary<readonly (readonly Message[])[]> = fc
  .tuple(
    fc.array(part, { minLength: 1, maxLength: 6 }),
    unresolved,
    fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 3 }),
  )
  .map(([parts, last, cuts]) => {
    return cutAt(joinParts([...parts, last]), cuts);
  });

/**
 * Chunks whose first has 1,000 to 10,000 messages: repeated turns of a tool-using agent, or repeated random histories.
 */
export const longChunks: fc.Arbitrary<readonly (readonly Message[])[]> = fc
  .tuple(
    fc.integer({ min: 1_000, max: 10_000 }),
    fc.oneof(
      fc.integer({ min: 1, max: 4 }).map((rounds) => workOn(0, rounds, 6)),
      fc.array(fc.oneof(odd, odd, worked), { minLength: 2, maxLength: 6 }).map(joinParts),
    ),
    chunks,
  )
  .map(([least, given, behind]) => {
    const times = Math.floor(least / Math.max(1, given.length));
    const before = Array.from({ length: times }, (_, time) => renameCalls(given, `${time}`)).flat();
    return [renameCalls(before, 'long'), ...behind];
  });

function joinParts(parts: readonly (readonly Message[])[]): Message[] {
  return parts.flatMap((given, index) => renameCalls(given, String(index)));
}

/**
 * Splits messages into chunks. A log has unanswered calls only at its end, so a split between call and result moves
 * forward.
 */
function cutAt(given: readonly Message[], cuts: readonly number[]): Message[][] {
  const isCut = (end: number): boolean => isOpenAtEndOnly(given.slice(0, end));
  let last = given.length;
  while (!isCut(last)) last -= 1;
  const ends = cuts.map((share) => {
    let end = Math.floor(share * last);
    while (end < last && !isCut(end)) end += 1;
    return end;
  });
  const sorted = [...ends.toSorted((a, b) => a - b), last];
  return sorted.map((end, index) => given.slice(sorted[index - 1] ?? 0, end)).filter(({ length }) => length > 0);
}

function workOn(turn: number, rounds: number, words: number): Message[] {
  const inTurn = Array.from({ length: rounds }, (_, round): Message[] => {
    const id = `w${turn}.${round}`;
    return [
      makeCall(id, { path: `src/part-${turn}/file-${round}.ts` }),
      { role: 'tool', content: prose(words, turn * 31 + round), toolCallId: id },
    ];
  });
  return [
    { role: 'user', content: `Question ${turn}: ${prose(5, turn)}` },
    ...inTurn.flat(),
    { role: 'assistant', content: `Answer ${turn}: ${prose(Math.ceil(words / 2), turn + 7)}` },
  ];
}

function makeCall(id: string, given: object): Message {
  return { role: 'assistant', content: '', toolCalls: [{ id, name: 'read', arguments: JSON.stringify(given) }] };
}

const WORDS = 'the order of 14 May was sent to INV-2024-77 in src/store/keys.ts by hand, and then paid 900 euro'.split(
  ' ',
);

/** Builds a text of `count` words, in a different order for each seed. */
function prose(count: number, seed: number): string {
  return Array.from({ length: count }, (_, index) => WORDS[(index * 7 + seed * 13) % WORDS.length]).join(' ');
}

function renameCalls(messages: readonly Message[], chunkName: string): Message[] {
  const rename = (id: string): string => `${chunkName}:${id}`.slice(0, 250);
  return messages.map((message) => ({
    ...message,
    ...(message.raw !== undefined && { raw: renameInside(message, rename) }),
    ...(message.toolCalls && { toolCalls: message.toolCalls.map((call) => ({ ...call, id: rename(call.id) })) }),
    ...(message.toolCallId !== undefined && { toolCallId: rename(message.toolCallId) }),
  }));
}

/** Renames the calls inside the provider's original items, which contain the same call ids. */
function renameInside({ raw, toolCalls = [] }: Message, rename: (id: string) => string): unknown {
  const written = toolCalls.reduce(
    (json, { id }) => json.replaceAll(JSON.stringify(id), JSON.stringify(rename(id))),
    JSON.stringify(raw),
  );
  return JSON.parse(written);
}
