import { fieldError, isTurnfoldError } from '../../../domain/errors.ts';
import { TURN_LIMITS, type TurnView } from '../../../domain/turn.ts';
import type { ConversationName, LogEntry, OpenTurns, TurnfoldClient } from '../../client/index.ts';
import { checkMessageBytes } from '../../client/weigh-message.ts';
import type { OpenTurnsInput } from '../../contract/turns.ts';
import type { Backend } from './backend.ts';

export async function readIfAny<Read>(reading: Promise<Read>): Promise<Read | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (isTurnfoldError(error, 'not_found')) return undefined;
    throw error;
  }
}

export async function readTurn(
  { client, nameOf }: Pick<Backend, 'client' | 'nameOf'>,
  conversation: string,
  turn: string,
): Promise<TurnView | undefined> {
  return await readIfAny(client.result(nameOf(conversation), turn));
}

export async function readLogTail(
  { client, nameOf }: Backend,
  conversation: string,
  entries: number,
): Promise<LogEntry[]> {
  const { head } = (await readIfAny(client.describe(nameOf(conversation)))) ?? { head: 0 };
  return head === 0 ? [] : await client.log(nameOf(conversation), { after: Math.max(0, head - entries) });
}

const LOG_BATCH = { maxBytes: 1_000_000, limit: 500 };

/**
 * Reads the log in batches, behind `after` and up to `head`. The first batch is read at once: an unreadable log is then reported as a
 * problem, before the answer begins.
 */
export async function openLog(
  client: TurnfoldClient,
  name: ConversationName,
  head = Number.POSITIVE_INFINITY,
  after = 0,
): Promise<AsyncGenerator<LogEntry>> {
  const read = (from: number): Promise<LogEntry[]> => client.log(name, { after: from, ...LOG_BATCH });
  let batch = await read(after);
  return (async function* readEntries() {
    for (;;) {
      yield* batch.filter(({ seq }) => seq <= head);
      const last = batch.at(-1)?.seq ?? head;
      if (last >= head) return;
      batch = await read(last);
    }
  })();
}

export async function readOpenTurns(
  { client, nameOf }: Backend,
  conversation: string,
  options: OpenTurnsInput,
): Promise<OpenTurns | undefined> {
  return await readIfAny(client.openTurns(nameOf(conversation), options));
}

interface NewMessages {
  readonly conversation: string;
  readonly agent: string;
  readonly texts: readonly string[];
  readonly field: string;
  readonly textField: string;
  readonly agentField?: string;
}

/**
 * Checks all that would refuse the messages of a request. Every protocol first checks, then stores answers, then adds
 * messages. So a refused request changes nothing, and a repeated request does what an outage left undone.
 */
export async function checkMessages(
  backend: Backend,
  { conversation, agent, texts, field, textField, agentField = field }: NewMessages,
): Promise<void> {
  if (texts.length === 0) return;
  for (const content of texts) checkMessageBytes({ role: 'user', content }, textField);
  const [known, open] = await Promise.all([
    readIfAny(backend.client.describe(backend.nameOf(conversation))),
    readOpenTurns(backend, conversation, { limit: 1 }),
  ]);
  if (known !== undefined && known.agent !== agent) {
    throw fieldError('agent_conflict', agentField, `the agent of the conversation is ${known.agent}, not ${agent}`);
  }
  const { mailbox = 0 } = open ?? {};
  if (mailbox + texts.length <= TURN_LIMITS.maxQueuedTurns) return;
  const why = `the conversation has ${mailbox} of at most ${TURN_LIMITS.maxQueuedTurns} turns that are queued, running or waiting. Send the message once turns have settled`;
  throw fieldError('mailbox_full', field, why);
}
