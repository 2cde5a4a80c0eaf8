import { answerFrames, type FrameSource, refuseHead } from './event-stream.ts';
import { HttpProblem } from './problem.ts';

const PIECE_CHARACTERS = 65_536;
/** Levels of the JSON that are written member by member. A message lies deeper, so it is written whole. */
const LEVELS = 4;

interface JsonStream extends Omit<FrameSource, 'frames' | 'cutsAtFailure' | 'heartbeat'> {
  readonly pieces: AsyncIterable<string> | Iterable<string>;
}

/** Writes a piece only when the connection takes it, so that no slow client keeps the whole text in memory. */
export function answerJson({ pieces, headers, ...source }: JsonStream): Response {
  refuseHead(source.request);
  return answerFrames({
    ...source,
    frames: (left) => collect(pieces, left),
    // A cut shows that the answer is incomplete. A line break between two pieces changes no JSON.
    cutsAtFailure: true,
    heartbeat: '\n',
    headers: { ...headers, 'content-type': 'application/json' },
  });
}

/** Writes plain data as `JSON.stringify` does, but in pieces. */
export function* writeJsonPieces(value: unknown, levels = LEVELS): Generator<string> {
  if (typeof value !== 'object' || value === null || levels === 0) {
    yield JSON.stringify(value);
    return;
  }
  const isList = Array.isArray(value);
  let before = isList ? '[' : '{';
  for (const [key, member] of isList ? value.entries() : Object.entries(value)) {
    if (member === undefined && !isList) continue;
    yield isList ? before : `${before}${JSON.stringify(key)}:`;
    yield* writeJsonPieces(member ?? null, levels - 1);
    before = ',';
  }
  yield `${before === ',' ? '' : before}${isList ? ']' : '}'}`;
}

/** Writes a conversation message by message, because a log may be larger than the memory of the server. */
export async function* writeMessages(
  id: string,
  messages: AsyncIterable<object> | Iterable<object>,
): AsyncGenerator<string> {
  yield `{"id":${JSON.stringify(id)},"messages":[`;
  let before = '';
  for await (const message of messages) {
    yield before + JSON.stringify(message);
    before = ',';
  }
  yield ']}';
}

async function* collect(pieces: AsyncIterable<string> | Iterable<string>, left: AbortSignal): AsyncGenerator<string> {
  let text = '';
  for await (const piece of pieces) {
    text += piece;
    if (text.length < PIECE_CHARACTERS) continue;
    // A stopping server completes the answer. A caller that lost its access gets no more of it.
    if (left.aborted && !isStopping(left.reason)) throw left.reason;
    yield text;
    text = '';
  }
  yield `${text}\n`;
}

function isStopping(reason: unknown): boolean {
  return reason instanceof HttpProblem && reason.code === 'server_stopping';
}
