import { describe, expect, test } from 'vitest';
import type { TurnLease } from '../../src/domain/lease.ts';
import { Script } from '../../src/store/script.ts';
import type { StepOutcome } from '../../src/store/turn-steps.ts';
import { recordStepScript } from '../../src/store/turn-steps.ts';
import { openSuiteStore } from './open-redis.ts';
import { acceptAndClaim, bring, callsStep, claimHead, newConversation, resultStep, toWaitFor } from './samples.ts';

/** More than a script reads at once. With fewer calls, it reads all fields of the conversation by one command. */
const FEW = 100;
/** The most tool calls that one message may have. */
const MANY = 1_000;
const RESULTS = 8;

const { redis, keyspace, store } = openSuiteStore();

async function openCalls(count: number): Promise<{ readonly lease: TurnLease; readonly ids: readonly string[] }> {
  const conversation = newConversation();
  const { lease } = await acceptAndClaim(store, conversation, 't');
  const step = callsStep('m1', 1, count);
  await store.recordStep(lease, step);
  return { lease, ids: step.opens.map(({ id }) => id) };
}

async function openAwaitedCalls(count: number): ReturnType<typeof openCalls> {
  const { lease, ids } = await openCalls(count);
  await store.suspend(lease, { for: 'tools', step: 'm1', waitMs: 0, calls: toWaitFor(ids, 0) });
  const claimed = await claimHead(store, lease.conversation);
  return { lease: claimed.lease, ids };
}

/**
 * Lua code that counts the work of a script. It counts characters sent to Redis and received, and characters searched by a
 * pattern. The count is the same on any machine.
 */
const COUNTER = `local work, server, text = 0, redis, string
local function count(value)
  if type(value) == 'table' then for _, each in pairs(value) do count(each) end
  elseif type(value) == 'string' then work = work + #value
  else work = work + 1 end
end
local function counted(call)
  return function(...)
    local reply = call(...)
    count({ ... })
    count(reply)
    return reply
  end
end
local function searched(find)
  return function(subject, ...)
    count(subject)
    return find(subject, ...)
  end
end
local redis = { call = counted(server.call), pcall = counted(server.pcall) }
local string = { find = searched(text.find), match = searched(text.match), gmatch = searched(text.gmatch),
  sub = text.sub, format = text.format, gsub = text.gsub }
`;

/** Records a step as the store does, and counts the work of its script and the characters of its reply. */
async function countRecord(lease: TurnLease, outcome: StepOutcome): Promise<number> {
  const script = new Script(recordStepScript, keyspace);
  const counting = `${COUNTER}local function run()\n${script.lua}\nend\nlocal reply = run()\nreturn { work, reply }`;
  const args = script.encode([lease, outcome]);
  const [work, reply] = (await redis.call('eval', [counting, ...args])) as [number, readonly string[]];
  expect(reply[0]).toBe('recorded');
  return work + JSON.stringify(reply).length;
}

/** Counts the work for the first results, while nearly all calls are still unanswered. */
async function countResults(open: typeof openCalls, count: number): Promise<number> {
  const { lease, ids } = await open(count);
  let work = 0;
  for (const id of ids.slice(0, RESULTS)) work += await countRecord(lease, resultStep(`t:${id}`, id));
  return work;
}

describe.each([
  ['of tool calls that its worker runs', openCalls],
  ['of tool calls that it waited for', openAwaitedCalls],
])('a worker records the results %s', (_name, open) => {
  test(`recording one tool result takes Redis as much work with ${MANY} unanswered calls as with ${FEW}`, async () => {
    const few = await countResults(open, FEW);
    const many = await countResults(open, MANY);
    // The rest of the difference comes from counts with more digits.
    expect(many / few).toBeLessThan(1.05);
  });
});

describe('unanswered tool calls in Redis', () => {
  test('a tool result is recorded without reading the answers that services gave to other calls', async () => {
    const { lease, ids } = await openCalls(10);
    await store.suspend(lease, { for: 'tools', step: 'm1', waitMs: 0, calls: toWaitFor(ids) });
    const answers = bring(ids, 'tools', () => JSON.stringify('x'.repeat(100_000)));
    await store.answerTurn({ conversation: lease.conversation, turn: lease.turn, answers, wake: 'w' });
    const claimed = await claimHead(store, lease.conversation);
    const [first = ''] = ids;
    expect(await countRecord(claimed.lease, resultStep(`t:${first}`, first))).toBeLessThan(100_000);
  });

  test('unanswered tool calls are read in the order in which they were made, even after some calls were answered', async () => {
    const { lease, ids } = await openCalls(200);
    for (const id of [ids[3], ids[150], ids[0]]) await store.recordStep(lease, resultStep(`t:${id}`, id as string));
    const state = await store.readConversation(lease.conversation);
    const left = ids.filter((_, index) => ![0, 3, 150].includes(index));
    expect(state?.openCalls).toEqual(left.map((id) => ({ id, providerId: `call_${id}` })));
  });

  test('tool calls of the step that fails a turn get error results in the same script', async () => {
    const { lease, conversation } = await acceptAndClaim(store, newConversation(), 't');
    const step = callsStep('m1', conversation.head, 2);
    const failure = { code: 'model_failed', message: 'm' } as const;
    await store.settle(lease, { state: 'failed', failure, step }, 'wake');
    const entries = await store.readLog(lease.conversation, [{ from: 3, to: 4 }]);
    expect(entries.map(({ message }) => message.toolCallId)).toEqual(step.opens.map(({ id }) => id));
    expect((await store.readConversation(lease.conversation))?.openCalls).toEqual([]);
  });

  test('unanswered tool calls of a failed turn get error results in the order in which they were made', async () => {
    const { lease, ids } = await openCalls(200);
    await store.settle(lease, { state: 'failed', failure: { code: 'model_failed', message: 'm' } }, 'wake');
    const entries = await store.readLog(lease.conversation, [{ from: 3, to: 202 }]);
    expect(entries.map(({ message }) => message.toolCallId)).toEqual(ids);
    expect((await store.readConversation(lease.conversation))?.openCalls).toEqual([]);
  });
});
