import { takeFirstWords } from '../../domain/conversation-about.ts';
import type { Acknowledged } from '../../domain/durability.ts';
import { fieldError } from '../../domain/errors.ts';
import { type AdoptedMessages, adoptMessages } from '../../domain/history.ts';
import type { ConversationRef } from '../../domain/ids.ts';
import { operationId } from '../../domain/ids.ts';
import type { Interruptible } from '../../domain/interruptible.ts';
import type { Message } from '../../domain/message.ts';
import { parseInput } from '../../domain/parse.ts';
import type { CreatedAbout } from '../../store/about.ts';
import type { AppendResult } from '../../store/log.ts';
import { type HistoryNote, HistoryNotes } from '../../wire/histories/notes.ts';
import { repairCallsInSlices } from '../../wire/histories/repair-calls.ts';
import { eventLoopShare } from '../../wire/tokens/event-loop-share.ts';
import type { Methods } from '../contract/client.ts';
import { type Appended, type AppendInput, appendSchema } from '../contract/messages.ts';
import { agentConflict, beingCopied, checkDurability, nameRepeatable, ownerConflict } from './client-errors.ts';
import { type NewPass, namePass, requestEvaluation } from './compaction.ts';
import { nameClientCall, operationConflict } from './payload-hash.ts';
import type { ClientPorts } from './ports.ts';
import { readAppendedInSlices, weighMessage } from './weigh-message.ts';

export const appendMethods = {
  /**
   * @throws invalid_input, agent_conflict, orphan_result, duplicate_call, message_too_large, conversation_busy,
   * conversation_forking, conflict, accepted_unsure
   */
  append: async (ports, input) => {
    const append = await eventLoopShare.run(checkInSlices(ports, input));
    const { operation } = append;
    let repairs = new HistoryNotes();
    const run = (): Promise<Acknowledged<AppendResult>> => {
      repairs = new HistoryNotes({ isStrict: append.strict === true });
      return nameRepeatable({ field: 'operation', id: operationId(operation) }, () =>
        tryAppend(ports, append, repairs),
      );
    };
    let result = await run();
    const maxTries = append.expectedHead === undefined ? APPEND_TRIES : 1;
    for (let tries = 1; result.status === 'conflict' && tries < maxTries; tries += 1) result = await run();
    const appended = await concludeAppend(ports, append, result);
    const notes = result.status === 'appended' ? [...append.notes, ...repairs.list] : [];
    return notes.length === 0 ? appended : { ...appended, notes };
  },
} satisfies Methods<ClientPorts>;

/** Maximum attempts of an append if other writers append first. An append with `expectedHead` is tried once. */
const APPEND_TRIES = 5;
const EARLY_ANSWERS: ReadonlySet<AppendResult['status']> = new Set([
  'known',
  'other_payload',
  'other_agent',
  'other_owner',
]);
const NO_HEAD = -1;

interface CheckedAppend extends CreatedAbout {
  readonly conversation: ConversationRef;
  readonly operation: string;
  readonly agent: string;
  readonly messages: readonly Message[];
  readonly places: readonly string[];
  readonly notes: readonly HistoryNote[];
  readonly strict?: boolean | undefined;
  readonly expectedHead?: number | undefined;
  readonly firstPass: NewPass;
}

function* checkInSlices(ports: ClientPorts, input: AppendInput): Interruptible<CheckedAppend> {
  const { conversation: id, tenant, operation: given, owner, title, ...rest } = parseInput(appendSchema, input);
  const notes = new HistoryNotes({ isStrict: rest.strict === true });
  const { messages, places } = yield* readAppendedInSlices(rest.messages, notes);
  yield;
  const operation = nameClientCall(ports, given, ['append', { ...rest, messages }]);
  return {
    ...rest,
    messages,
    places,
    owner,
    title: title ?? takeFirstWords(messages.find(({ role }) => role === 'user')?.content ?? ''),
    notes: notes.list,
    conversation: { tenant, id },
    operation,
    firstPass: namePass(ports),
  };
}

async function tryAppend(
  ports: ClientPorts,
  append: CheckedAppend,
  notes: HistoryNotes,
): Promise<Acknowledged<AppendResult>> {
  const { conversation, operation, agent, firstPass, places, owner, title } = append;
  const state = await ports.contexts.readConversation(conversation);
  const expectedHead = append.expectedHead ?? state?.head ?? 0;
  const before = state?.openCalls ?? [];
  const target = { conversation, operation, agent, expectedHead, firstPass, owner, title };
  let adopted: AdoptedMessages;
  try {
    const placeOf = (index: number): string => places[index] ?? 'messages';
    const repair = repairCallsInSlices(append.messages, { notes, openCalls: before, placeOf });
    const repaired = await eventLoopShare.run(repair);
    adopted = adoptMessages(
      repaired.map(({ message }) => message),
      expectedHead + 1,
      before,
    );
  } catch (refusal) {
    // An earlier attempt may have appended the messages, or another writer may have extended the log. An empty append
    // with an impossible `expectedHead` writes nothing, and its result tells the two cases apart.
    const probe = { ...target, expectedHead: NO_HEAD, messages: [], opens: [], closes: [] };
    const answer = await ports.contexts.append(probe);
    const isOutrun = append.expectedHead !== undefined && append.expectedHead !== (state?.head ?? 0);
    if (EARLY_ANSWERS.has(answer.status) || isOutrun) return answer;
    throw refusal;
  }
  const counter = await ports.counterFor(agent);
  const weighed = await Promise.all(
    adopted.messages.map((message, index) => weighMessage(counter, message, `messages[${index}]`)),
  );
  const stillOpen = new Set(adopted.openCalls.map((call) => call.id));
  const wasOpen = new Set(before.map((call) => call.id));
  return await ports.contexts.append({
    ...target,
    messages: weighed,
    opens: adopted.openCalls.filter((call) => !wasOpen.has(call.id)),
    closes: [...wasOpen].filter((call) => !stillOpen.has(call)),
  });
}

async function concludeAppend(
  ports: ClientPorts,
  { conversation, operation, firstPass }: CheckedAppend,
  result: Acknowledged<AppendResult>,
): Promise<Appended> {
  if (result.status === 'other_agent') throw agentConflict(conversation, result.agent);
  if (result.status === 'other_owner') throw ownerConflict(conversation);
  if (result.status === 'other_payload') throw operationConflict(operation);
  if (result.status === 'forking') throw beingCopied(conversation, result);
  if (result.status === 'busy') {
    const why = `${conversation.id} has turns that are queued or running. Append once they have settled`;
    throw fieldError('conversation_busy', 'conversation', why);
  }
  if (result.status === 'conflict') {
    const { head } = result;
    const why = `the last message of the log is now number ${head}. Read the newer messages before you append`;
    throw fieldError('conflict', 'expectedHead', why, { details: { head } });
  }
  // The messages are in the log. An error of the threshold check would make the caller append them again.
  await requestEvaluation(ports, conversation, firstPass).catch(ports.onError);
  checkDurability(result, { field: 'operation', id: operationId(operation) });
  return { from: result.from, to: result.to };
}
