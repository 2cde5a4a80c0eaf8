import type { LogEntry } from '../../../domain/message.ts';
import { readHistoryInSlices } from '../../../wire/histories/history.ts';
import { eventLoopShare } from '../../../wire/tokens/event-loop-share.ts';
import { importConversation } from '../../client/import.ts';
import { checkOperator } from '../caller.ts';
import { readOperation } from '../idempotency-key.ts';
import { answerJson } from '../json-answer.ts';
import { HttpProblem } from '../problem.ts';
import { type Call, type Handlers, locate } from '../route.ts';

export const conversationHandlers: Handlers = {
  describe: async ({ client, name }) => ({
    body: { conversation: name.conversation, ...(await client.describe(name)) },
  }),
  fork: async (call) => {
    const { to, operation: given, ...input } = call.body;
    const operation = readOperation(call, given);
    const target = { tenant: call.caller.tenant, conversation: to };
    const { head } = await call.client.fork(call.name, target, { ...input, operation });
    return { body: { conversation: to, head }, headers: { location: locate(call, to) } };
  },
  proposal: async ({ client, name }) => {
    const { tenant: _, ...proposal } = { tenant: '', ...(await client.proposal(name)) };
    return { body: { proposals: 'proposal' in proposal ? [proposal] : [] } };
  },
  exportConversation: async (call) => {
    const { request, cut, readers, streams: limits } = call;
    // Read before the answer begins, so that a missing conversation is a problem.
    const first = await readBatch(call, 0);
    return answerJson({ request, cut, readers, limits, pieces: writeExport(call, first) });
  },
  importConversation: async (call) => {
    const { agent, messages: given, strict } = call.body;
    const { messages, notes } = await eventLoopShare.run(
      readHistoryInSlices({ messages: given }, { isStrict: strict }),
    );
    await importConversation(call.client, { ...call.name, agent, messages });
    const { conversation } = call.name;
    const body = { conversation, messages: messages.length, ...(notes.length > 0 && { notes }) };
    return { body, headers: { location: locate(call, conversation) } };
  },
  showAccess: async ({ caller: { tenant, scopes }, isReadOnly }) => ({
    body: { tenant, scopes, ...(isReadOnly && { isReadOnly }) },
  }),
  showFleet: async ({ fleet, caller }) => {
    checkOperator(caller);
    if (fleet !== undefined) return { body: await fleet() };
    const why = 'this server does not read the fleet. turnfold serve and turnfold inspect do';
    throw new HttpProblem('not_offered', why, { field: 'fleet' });
  },
};

/** Bytes and entries that an export reads at once, and holds while a client reads slowly. */
const EXPORT_BATCH = { maxBytes: 1_000_000, limit: 500 };

async function readBatch({ client, name }: Call, after: number): Promise<LogEntry[]> {
  return await client.log(name, { after, ...EXPORT_BATCH });
}

/** Writes the export batch by batch, because a log may be larger than the memory of the server. */
async function* writeExport(call: Call, first: LogEntry[]): AsyncGenerator<string> {
  yield `{"id":${JSON.stringify(call.name.conversation)},"messages":[`;
  let after = 0;
  for (let batch = first; batch.length > 0; batch = await readBatch(call, after)) {
    for (const { message } of batch) {
      yield `${after === 0 ? '' : ','}${JSON.stringify(message)}`;
      after += 1;
    }
  }
  yield ']}';
}
