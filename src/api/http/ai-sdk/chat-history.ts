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
import { isInMailbox, nameUserMessage } from './open-chat-turns.ts';

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
  for (const turn of queued.filter(isInMailbox)) {
    const message = logged.has(turn.turn) ? undefined : showQueued(turn);
    if (message !== undefined) yield message;
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
      addSteering(answer, asked);
    } else {
      const { shown, left } = await closeAnswer(facts, answer, asked);
      yield* shown;
      // Behind the question, only steering messages can come before the first step of its answer.
      const question = turn === undefined ? -1 : left.findIndex((one) => one.turn === turn);
      const questions = question === -1 ? left : left.slice(0, question + 1);
      yield* await showAsked(facts, questions, turn);
      answer = { seq, turn, parts: new ShownAnswer(questions.at(-1)?.seq ?? seq - 1, facts) };
      addSteering(answer, left.slice(questions.length));
    }
    asked = [];
    answer.parts.addEntry(entry);
  }
  const { shown, left } = await closeAnswer(facts, answer, asked);
  yield* shown;
  yield* await showAsked(facts, left, undefined);
}

interface OpenAnswer {
  readonly seq: number;
  readonly turn: string | undefined;
  readonly parts: ShownAnswer;
}

function addSteering({ parts }: OpenAnswer, steering: readonly LogEntry[]): void {
  for (const entry of steering) parts.addSteering(entry.turn ?? '', entry);
}

interface ClosedAnswer {
  readonly shown: readonly ShownMessage[];
  /** Messages that did not join the answer. */
  readonly left: readonly LogEntry[];
}

/** @param asked user messages behind the answer, of which some joined its turn before the turn ended without a further step */
async function closeAnswer(
  { open, viewOf }: HistoryFacts,
  answer: OpenAnswer | undefined,
  asked: readonly LogEntry[],
): Promise<ClosedAnswer> {
  if (answer === undefined) return { shown: [], left: asked };
  const { seq, turn, parts } = answer;
  if (turn === undefined) {
    const message = { id: `log.${seq}`, role: 'assistant', parts: parts.close(undefined) } as const;
    return { shown: [{ seq, message }], left: asked };
  }
  const view = await viewOf(turn);
  // A completed turn ends with a step, so no message joined it behind its last one.
  const needsViews = view?.state !== 'completed';
  const views = await Promise.all(
    asked.map(async (one) => (needsViews && one.turn ? await viewOf(one.turn) : undefined)),
  );
  const hasJoined = (_: LogEntry, at: number): boolean => views[at]?.steeredInto === turn;
  addSteering(answer, asked.filter(hasJoined));
  const left = asked.filter((one, at) => !hasJoined(one, at));
  if (open.has(turn)) return { shown: [], left };
  const metadata = view && describeAnswer(view);
  const message = { id: turn, role: 'assistant', parts: parts.close(view?.settledAt) } as const;
  return { shown: [{ seq, message: { ...message, ...(metadata && { metadata }) } }], left };
}

/**
 * Shows user messages. A turn that ended without an answer gets an empty answer that says why. A message that joined such
 * a turn is a part of this answer. The stream of an open turn has the messages that joined it.
 * @param answered turn whose answer follows
 */
async function showAsked(
  facts: HistoryFacts,
  asked: readonly LogEntry[],
  answered: string | undefined,
): Promise<ShownMessage[]> {
  const views = await Promise.all(
    asked.map(async ({ turn }) => (turn === undefined || turn === answered ? undefined : await facts.viewOf(turn))),
  );
  const shown: ShownMessage[] = [];
  const ended = new Map<string, OpenAnswer>();
  for (const [at, entry] of asked.entries()) {
    const { seq, turn, message } = entry;
    const view = views[at];
    const joined = ended.get(view?.steeredInto ?? '');
    if (joined !== undefined) addSteering(joined, [entry]);
    if (joined !== undefined || facts.open.has(view?.steeredInto ?? '')) continue;
    const id = turn === undefined ? `log.${seq}` : nameUserMessage(turn);
    shown.push({ seq, message: { id, role: 'user', parts: showUserParts(message) } });
    if (turn === undefined || (view?.state !== 'failed' && view?.state !== 'canceled')) continue;
    const parts = new ShownAnswer(seq, facts);
    ended.set(turn, { seq, turn, parts });
    const metadata = describeAnswer(view);
    shown.push({ seq, message: { id: turn, role: 'assistant', metadata, parts: parts.close(undefined) } });
  }
  return shown;
}

interface AskedText {
  readonly content: string;
  readonly parts?: readonly unknown[] | undefined;
}

/** Shows the message of a turn that no worker has begun. Undefined if a worker has. */
export function showQueued({
  turn,
  input: content,
  inputParts: parts,
}: OpenTurns['turns'][number]): UiMessage | undefined {
  if (content === undefined) return undefined;
  return { id: nameUserMessage(turn), role: 'user', parts: showUserParts({ content, parts }) };
}

/** As `sendMessage` of the AI SDK orders them: files, then the text. */
function showUserParts({ content, parts = [] }: AskedText): UiPart[] {
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
