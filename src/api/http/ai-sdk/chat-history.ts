import type { LogEntry } from '../../../domain/message.ts';
import { readPart } from '../../../domain/parts.ts';
import { findRolledBack, isWithin } from '../../../domain/rolled-back.ts';
import type { TurnView } from '../../../domain/turn.ts';
import type { SeqRange } from '../../../domain/version.ts';
import type { OpenTurns } from '../../client/index.ts';
import type { Backend } from '../front-end/backend.ts';
import { openLog, readIfAny, readTurn } from '../front-end/reads.ts';
import { type AnswerFacts, ShownAnswer, type UiPart } from './answer-parts.ts';
import { type AnswerMetadata, describeAnswer, type SdkVersion } from './chunks.ts';
import { nameUserMessage } from './open-chat-turns.ts';

export interface UiMessage {
  readonly id: string;
  readonly role: 'user' | 'assistant';
  /** Metadata of an answer: usage, times, and how its turn ended. */
  readonly metadata?: AnswerMetadata;
  readonly parts: readonly UiPart[];
}

/** A message with the first log entry that it shows. */
export interface ShownMessage {
  readonly seq: number;
  readonly message: UiMessage;
}

type ChatReader = Pick<Backend, 'client' | 'nameOf'>;

/**
 * Reads the messages for a page that opens a chat, without regenerated answers. The answer of an open turn is left out,
 * because its stream has it. A conversation that does not exist has no messages.
 */
export async function openChatHistory(
  backend: ChatReader,
  id: string,
  sdkVersion: SdkVersion = 6,
): Promise<AsyncIterable<UiMessage> | Iterable<UiMessage>> {
  return (await readIfAny(openKnownHistory(backend, id, sdkVersion))) ?? [];
}

async function openKnownHistory(
  backend: ChatReader,
  id: string,
  sdkVersion: SdkVersion,
): Promise<AsyncIterable<UiMessage>> {
  const { facts, head, queued } = await readHistoryFacts(backend, id, sdkVersion);
  const log = await openLog(backend.client, backend.nameOf(id), head);
  return listAll(facts, log, queued);
}

async function* listAll(
  facts: HistoryFacts,
  log: AsyncIterable<LogEntry>,
  queued: OpenTurns['turns'],
): AsyncGenerator<UiMessage> {
  const logged = new Set<string | undefined>();
  async function* note(): AsyncGenerator<LogEntry> {
    for await (const entry of log) {
      logged.add(entry.turn);
      yield entry;
    }
  }
  for await (const { message } of listShown(facts, note())) yield message;
  for (const { turn, input } of queued) {
    if (input === undefined || logged.has(turn)) continue;
    yield { id: nameUserMessage(turn), role: 'user', parts: [{ type: 'text', text: input }] };
  }
}

/** Facts about a chat that decide how its log is shown. */
export interface HistoryFacts extends AnswerFacts {
  readonly dropped: readonly SeqRange[];
  /** Turns whose answers are left out. */
  readonly open: ReadonlySet<string>;
  readonly viewOf: (turn: string) => Promise<TurnView | undefined>;
}

export async function readHistoryFacts(
  backend: ChatReader,
  id: string,
  sdkVersion: SdkVersion,
): Promise<{ readonly facts: HistoryFacts; readonly head: number; readonly queued: OpenTurns['turns'] }> {
  const { client, nameOf } = backend;
  const name = nameOf(id);
  // The end of the log is read between two reads of the open turns. So a turn with an incomplete answer before this end
  // is in one of the two.
  const before = await client.openTurns(name, { limit: 1_000, inputs: true });
  const [{ head }, versions] = await Promise.all([client.describe(name), client.versions(name)]);
  const after = await client.openTurns(name, { limit: 1_000 });
  const facts = {
    dropped: findRolledBack(versions),
    open: new Set([...before.turns, ...after.turns].map(({ turn }) => turn)),
    versions,
    sdkVersion,
    viewOf: async (turn: string) => await readTurn(backend, id, turn),
  };
  return { facts, head, queued: before.turns };
}

/** Shows the entries of a log as messages. All model steps of a turn are one answer. */
export async function* listShown(
  facts: HistoryFacts,
  log: AsyncIterable<LogEntry> | Iterable<LogEntry>,
): AsyncGenerator<ShownMessage> {
  let answer: OpenAnswer | undefined;
  /** User messages behind the answer. If the answer goes on behind them, they are its steering messages. */
  let asked: LogEntry[] = [];
  for await (const entry of log) {
    const { seq, turn, message } = entry;
    if (isWithin(facts.dropped, seq)) continue;
    if (message.role === 'user') {
      // Steers no turn, so it is shown at once. To hold many large messages would take much memory.
      if (answer === undefined && turn === undefined && asked.length === 0)
        yield* await showAsked(facts, [entry], turn);
      else asked.push(entry);
      continue;
    }
    if (message.role !== 'assistant' && message.role !== 'tool') continue;
    if (answer !== undefined && turn === answer.turn && (turn !== undefined || asked.length === 0)) {
      for (const steering of asked) answer.parts.addSteering(steering.turn ?? '', steering);
    } else {
      yield* await closeAnswer(facts, answer);
      yield* await showAsked(facts, asked, turn);
      answer = { seq, turn, parts: new ShownAnswer(asked.at(-1)?.seq ?? seq - 1, facts) };
    }
    asked = [];
    answer.parts.addEntry(entry);
  }
  yield* await closeAnswer(facts, answer);
  yield* await showAsked(facts, asked, undefined);
}

interface OpenAnswer {
  readonly seq: number;
  readonly turn: string | undefined;
  readonly parts: ShownAnswer;
}

async function closeAnswer({ open, viewOf }: HistoryFacts, answer: OpenAnswer | undefined): Promise<ShownMessage[]> {
  if (answer === undefined) return [];
  const { seq, turn, parts } = answer;
  if (turn === undefined)
    return [{ seq, message: { id: `log.${seq}`, role: 'assistant', parts: parts.close(undefined) } }];
  if (open.has(turn)) return [];
  const view = await viewOf(turn);
  const metadata = view && describeAnswer(view);
  const message = { id: turn, role: 'assistant', parts: parts.close(view?.settledAt) } as const;
  return [{ seq, message: { ...message, ...(metadata && { metadata }) } }];
}

/**
 * Shows user messages. A turn that ended without an answer gets an empty answer that says why.
 * @param answered turn whose answer follows
 */
async function showAsked(
  facts: HistoryFacts,
  asked: readonly LogEntry[],
  answered: string | undefined,
): Promise<ShownMessage[]> {
  const shown = await Promise.all(
    asked.map(async ({ seq, turn, message }): Promise<ShownMessage[]> => {
      const id = turn === undefined ? `log.${seq}` : nameUserMessage(turn);
      const question: ShownMessage = { seq, message: { id, role: 'user', parts: showUserParts(message) } };
      const view =
        turn === undefined || turn === answered || facts.open.has(turn) ? undefined : await facts.viewOf(turn);
      if (turn === undefined || (view?.state !== 'failed' && view?.state !== 'canceled')) return [question];
      return [question, { seq, message: { id: turn, role: 'assistant', metadata: describeAnswer(view), parts: [] } }];
    }),
  );
  return shown.flat();
}

/** As `sendMessage` of the AI SDK orders them: files, then the text. */
function showUserParts({ content, parts = [] }: LogEntry['message']): UiPart[] {
  const text = content === '' ? [] : [{ type: 'text', text: content }];
  return [...parts.flatMap(showFile), ...text];
}

function showFile(given: unknown): UiPart[] {
  const part = readPart(given);
  const { mediaType, name } = given as { readonly mediaType?: string; readonly name?: string };
  const file = (type: string, url: string): UiPart[] => {
    return [{ type: 'file', mediaType: mediaType ?? type, url, ...(name !== undefined && { filename: name }) }];
  };
  switch (part.kind) {
    case 'image':
    case 'file':
      return file(part.mediaType, `data:${part.mediaType};base64,${part.base64}`);
    case 'image_url':
      return file('image/*', part.url);
    case 'file_url':
      return file(part.mediaType, part.url);
    default:
      return [];
  }
}
