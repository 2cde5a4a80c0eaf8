import { setTimeout as delay } from 'node:timers/promises';
import { fieldError, isTurnfoldError } from '../../../domain/errors.ts';
import { TURN_LIMITS, type TurnView } from '../../../domain/turn.ts';
import type { LogEntry, OpenTurns } from '../../client/index.ts';
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
  { client, nameOf }: Backend,
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

export async function readOpenTurns(
  { client, nameOf }: Backend,
  conversation: string,
  options: OpenTurnsInput,
): Promise<OpenTurns | undefined> {
  return await readIfAny(client.openTurns(nameOf(conversation), options));
}

/**
 * How long a stop waits for the request of its message. A page may stop a message as soon as it has sent the message.
 */
const ARRIVAL_MS = 500;
const READ_MS = 50;

export async function awaitArrival<Read>(
  read: () => Promise<Read | undefined>,
  left: AbortSignal,
): Promise<Read | undefined> {
  const until = performance.now() + ARRIVAL_MS;
  for (;;) {
    const found = await read();
    if (found !== undefined || left.aborted || performance.now() >= until) return found;
    await delay(READ_MS, undefined, { signal: left }).catch(() => undefined);
  }
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
 * Checks all that would refuse the messages of a request. Every protocol keeps one order: it checks, stores answers and
 * decisions, and then adds messages. So a refused request changes nothing, and the same request again does what an outage
 * left undone. If other requests fill the mailbox in between, the answers count, and a repetition adds the messages.
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
  const why = `${mailbox} turns are queued, running or waiting. Send the message once turns have settled`;
  throw fieldError('mailbox_full', field, why);
}
