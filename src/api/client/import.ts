import { createHash } from 'node:crypto';
import { fieldError, isTurnfoldError } from '../../domain/errors.ts';
import { adoptMessages } from '../../domain/history.ts';
import { forEachInSlices, type Interruptible } from '../../domain/interruptible.ts';
import type { Message } from '../../domain/message.ts';
import { HistoryNotes } from '../../wire/histories/notes.ts';
import { eventLoopShare } from '../../wire/tokens/event-loop-share.ts';
import type { TurnfoldClient } from '../contract/client.ts';
import { checkMessageBytes, readAppendedInSlices } from './weigh-message.ts';

interface ImportInput {
  readonly conversation: string;
  readonly tenant: string;
  readonly agent: string;
  readonly messages: readonly Message[];
  readonly owner?: string | undefined;
  readonly title?: string | undefined;
  /** Name of the id in errors (`id`). */
  readonly idField?: string;
}

/** Redis serves no other client while it runs an append, so an append of this size takes less than a second. */
const MAX_BATCH_MESSAGES = 500;
const MAX_BATCH_CHARACTERS = 2_000_000;

/**
 * Creates a conversation. A repeated import within a day changes nothing.
 * @throws invalid_input, message_too_large, orphan_result, duplicate_call
 * @throws conflict if the conversation exists with other messages, or if another writer appends during the import
 */
export async function importConversation(
  client: Pick<TurnfoldClient, 'append'>,
  { conversation, tenant, agent, messages, owner, title, idField = 'id' }: ImportInput,
): Promise<void> {
  await eventLoopShare.run(checkWhole(messages));
  let expectedHead = 0;
  for (const batch of splitBatches(messages)) {
    const operation = nameOperation(expectedHead, batch);
    await client
      .append({ conversation, tenant, agent, messages: batch, expectedHead, operation, owner, title })
      .catch((error: unknown) => {
        throw nameConflict(error, { conversation, expectedHead, idField });
      });
    expectedHead += batch.length;
  }
}

/** Checks all messages before the first write, so that the import is complete or writes nothing. */
function* checkWhole(messages: readonly Message[]): Interruptible<void> {
  if (messages.length === 0) {
    const why = 'the conversation has no messages. Remove its line or add a message.';
    throw fieldError('invalid_input', 'messages', why);
  }
  yield* forEachInSlices(messages, (message, index) => checkMessageBytes(message, `messages[${index}]`));
  const { messages: read } = yield* readAppendedInSlices(messages, new HistoryNotes());
  adoptMessages(read, 1);
}

interface RefusedImport extends Required<Pick<ImportInput, 'conversation' | 'idField'>> {
  readonly expectedHead: number;
}

function nameConflict(cause: unknown, { conversation, expectedHead, idField }: RefusedImport): unknown {
  if (!isTurnfoldError(cause, 'conflict')) return cause;
  const { details = {} } = cause;
  const head = String(details['head']);
  const why =
    expectedHead === 0
      ? `${conversation} exists already with ${head} messages. Use another id or another tenant.`
      : `another writer appended to ${conversation} during the import. ${expectedHead} of its ${head} messages were imported.`;
  return fieldError('conflict', idField, why, { details, cause });
}

/** Derives the id from the messages, so that a repeated import is the same operation. */
function nameOperation(start: number, batch: readonly Message[]): string {
  const hash = createHash('sha256').update(JSON.stringify(batch)).digest('hex').slice(0, 32);
  return `import-${start}-${hash}`;
}

function* splitBatches(messages: readonly Message[]): Generator<Message[]> {
  let batch: Message[] = [];
  let characters = 0;
  for (const message of messages) {
    const size = JSON.stringify(message).length;
    if (batch.length > 0 && (batch.length === MAX_BATCH_MESSAGES || characters + size > MAX_BATCH_CHARACTERS)) {
      yield batch;
      batch = [];
      characters = 0;
    }
    batch.push(message);
    characters += size;
  }
  if (batch.length > 0) yield batch;
}
