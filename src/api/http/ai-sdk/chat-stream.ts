import { isAnswerKind } from '../../../domain/turn.ts';
import type { Backend } from '../front-end/backend.ts';
import { readOpenTurns } from '../front-end/reads.ts';
import { writeData } from '../front-end/server-facts.ts';
import type { ChatRequest } from './chat-request.ts';
import { answerWait } from './chat-turns.ts';
import { writeChunkPosition } from './chunk-position.ts';
import { type Chunk, ChunkTable, type SdkVersion } from './chunks.ts';
import type { StreamedAnswer } from './turn-names.ts';

interface OpenChat {
  readonly backend: Backend;
  readonly id: string;
  readonly version: SdkVersion;
  readonly request?: ChatRequest;
  readonly left: AbortSignal;
}

/**
 * Writes the chunks of a turn. The position of the page follows the chunks of each part, as the id of an event without
 * data. Behind the last part there is none: a page that lost the end gets the last part again.
 */
export async function* streamChat(
  { backend, id, version, request, left }: OpenChat,
  { turn, known, after }: StreamedAnswer,
): AsyncGenerator<string> {
  const table = new ChunkTable({ turn, version, known, state: after?.table });
  let hasBegun = after?.hasBegun === true;
  const write = (part: string, chunks: readonly Chunk[]): string => {
    return writeChunks(chunks, writeChunkPosition({ turn, part, hasBegun, table: table.state }));
  };
  const begin = (): Chunk[] => {
    if (hasBegun) return [];
    hasBegun = true;
    return table.start();
  };
  const { isBehind, ...place } = await describePlace(backend, id, turn);
  // A page shows an answer once it starts. Behind a turn that waits for answers, this answer does not start yet.
  const started = isBehind ? [] : begin();
  yield write(after?.part ?? '', [...started, place]);
  const from = after === undefined || after.part === '' ? {} : { after: after.part };
  for await (const part of backend.client.stream(backend.nameOf(id), turn, { ...from, signal: left })) {
    if (part.type === 'wait' && request !== undefined && (await answerWait(backend, request, turn, part.waiting)))
      continue;
    const first = part.type === 'behind' ? [] : begin();
    const chunks = [...first, ...table.add(part)];
    if (table.isDone) {
      yield writeChunks(chunks, undefined);
      break;
    }
    if (chunks.length > 0) yield write(part.id, chunks);
  }
  yield 'data: [DONE]\n\n';
}

function writeChunks(chunks: readonly Chunk[], position: string | undefined): string {
  const frames = chunks.map(writeData).join('');
  return position === undefined ? frames : `${frames}id: ${position}\n\n`;
}

async function describePlace(
  backend: Backend,
  id: string,
  turn: string,
): Promise<Chunk & { readonly isBehind: boolean }> {
  const turns = (await readOpenTurns(backend, id, { limit: 1_000 }))?.turns ?? [];
  const position = turns.findIndex((open) => open.turn === turn);
  const state = turns[position]?.state ?? 'settled';
  const data = { turn, state, position: Math.max(0, position) };
  const first = turns[0]?.waiting;
  const isBehind = position > 0 && first !== undefined && isAnswerKind(first.for);
  return { isBehind, type: 'data-turn', id: 'turn', data, transient: true };
}

/** Finds the turn that a page resumes: the first open turn, or one that ended within the last `replayMs`. */
export async function findActive(backend: Backend, id: string, replayMs: number): Promise<string | undefined> {
  const { client, nameOf } = backend;
  const open = await readOpenTurns(backend, id, {});
  if (open === undefined) return undefined;
  // Events have the time of Redis.
  const { at: now, turns } = open;
  const [first] = turns;
  if (first !== undefined || replayMs === 0) return first?.turn;
  let last: string | undefined;
  for await (const event of client.events(nameOf(id), { after: '0', waitMs: 0 })) {
    if (event.type !== 'lost' && event.type === 'turn_settled' && event.at > now - replayMs) last = event.turn;
  }
  return last;
}
