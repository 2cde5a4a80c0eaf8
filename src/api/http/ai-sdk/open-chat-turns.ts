import { fieldError } from '../../../domain/errors.ts';
import { isAnswerKind, type Waiting } from '../../../domain/turn.ts';
import type { OpenTurns } from '../../client/index.ts';
import type { Backend } from '../front-end/backend.ts';
import { nameWaitingCall, readJsonOrText } from '../front-end/call-names.ts';
import { readOpenTurns, readTurn } from '../front-end/reads.ts';
import type { ChunkPosition } from './chunk-position.ts';
import { splitTurnName } from './turn-names.ts';

/** Id of the user's message of a turn. A turn of another program has one, too. */
export function nameUserMessage(turn: string): string {
  return splitTurnName(turn)?.message ?? `${turn}.input`;
}

/** Describes the open turns of a chat for pages: the queue, and the calls that wait for answers. */
export function describeOpenTurns({ turns }: Pick<OpenTurns, 'turns'>) {
  return turns.map(({ turn, state, input, inputParts = [], waiting }, position) => ({
    turn,
    messageId: nameUserMessage(turn),
    state,
    position,
    ...(input !== undefined && { text: input }),
    ...(inputParts.length > 0 && { files: inputParts.map(nameFile) }),
    ...(waiting && { waiting: describeWait(waiting) }),
  }));
}

/** Names a file without its contents, because the list is sent after each change. */
function nameFile(part: unknown): { readonly mediaType: string; readonly filename?: string } {
  const { type, mediaType, name } = part as {
    readonly type?: string;
    readonly mediaType?: string;
    readonly name?: string;
  };
  const known = mediaType ?? (type === 'image' ? 'image/*' : 'application/octet-stream');
  return { mediaType: known, ...(name !== undefined && { filename: name }) };
}

export function describeWait({ for: kind, until, calls }: Waiting) {
  return { for: kind, until, calls: isAnswerKind(kind) ? calls.map((call) => describeCall(call, kind)) : [] };
}

function describeCall(call: Waiting['calls'][number], kind: Waiting['for']) {
  const { id: toolCallId, name: toolName, arguments: written, input = written, isShownOnly, decision } = call;
  return {
    toolCallId,
    toolName,
    input: isShownOnly === true ? input : readJsonOrText(input),
    ...(kind === 'approval' && { approvalId: nameWaitingCall(call) }),
    ...(decision && { decision }),
  };
}

interface Resuming {
  /** Place behind which the page goes on. Absent: the start of the turn. */
  readonly after: ChunkPosition | undefined;
  /** Turn that the page wants. Absent: the turn of `after`, otherwise the first open turn. */
  readonly named: string | undefined;
  /** Time after its end in which a turn is streamed without `after`, in ms. */
  readonly replayMs: number;
}

/**
 * Finds the turn that a page resumes.
 * @throws not_found if the turn of the position is no longer kept, invalid_input if the page wants another turn
 */
export async function findResumed(backend: Backend, id: string, resuming: Resuming): Promise<string | undefined> {
  const { after, named, replayMs } = resuming;
  if (after === undefined) {
    if (named === undefined) return await findActive(backend, id, replayMs);
    return (await isReplayed(backend, id, { turn: named, replayMs })) ? named : undefined;
  }
  if (named !== undefined && named !== after.turn) {
    throw fieldError(
      'invalid_input',
      'after',
      `expected a position in the stream of turn ${named}, not of ${after.turn}`,
    );
  }
  return (await backend.client.result(backend.nameOf(id), after.turn)).turn;
}

async function isReplayed(
  backend: Backend,
  id: string,
  { turn, replayMs }: { readonly turn: string; readonly replayMs: number },
): Promise<boolean> {
  const view = await readTurn(backend, id, turn);
  if (view?.settledAt === undefined) return view !== undefined;
  const now = (await readOpenTurns(backend, id, { limit: 1 }))?.at;
  return now !== undefined && view.settledAt > now - replayMs;
}

/** Finds the first open turn, or the last one that ended within the last `replayMs`. */
async function findActive(backend: Backend, id: string, replayMs: number): Promise<string | undefined> {
  const { client, nameOf } = backend;
  const open = await readOpenTurns(backend, id, {});
  if (open === undefined) return undefined;
  // Events have the time of Redis.
  const { at: now, turns } = open;
  const first = turns.find(isInMailbox);
  if (first !== undefined || replayMs === 0) return first?.turn;
  let last: string | undefined;
  for await (const event of client.events(nameOf(id), { after: '0', waitMs: 0 })) {
    if (event.type !== 'lost' && event.type === 'turn_settled' && event.at > now - replayMs) last = event.turn;
  }
  return last;
}

/** A scheduled turn has no place in the chat before it is due. Lists have these turns behind all others. */
export function isInMailbox({ state }: OpenTurns['turns'][number]): boolean {
  return state !== 'scheduled';
}
