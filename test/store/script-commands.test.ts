import { expect, test } from 'vitest';
import { Script, type ScriptDefinition } from '../../src/store/script.ts';
import { claimTurnScript } from '../../src/store/turn-claims.ts';
import type { TurnSettlement } from '../../src/store/turn-ends.ts';
import { settleTurnScript } from '../../src/store/turn-ends.ts';
import { acceptTurnScript } from '../../src/store/turn-intake.ts';
import type { ClaimedTurn } from '../../src/store/turn-record.ts';
import { recordStepScript } from '../../src/store/turn-steps.ts';
import { openSuiteStore } from './open-redis.ts';
import { claimHead, newConversation, textStep, turnFor } from './samples.ts';

const { redis, keyspace, store } = openSuiteStore();

/** Lua code that counts the commands of a script. */
const COUNTER = `local commands, server = 0, redis
local function counted(call)
  return function(...)
    commands = commands + 1
    return call(...)
  end
end
local redis = { call = counted(server.call), pcall = counted(server.pcall) }
`;

/** Runs a script as the store does. @returns how many commands it ran */
async function count<Input extends readonly unknown[]>(
  expected: string,
  definition: ScriptDefinition<Input, unknown>,
  ...input: Input
): Promise<number> {
  const script = new Script(definition, keyspace);
  const counting = `${COUNTER}local function run()\n${script.lua}\nend\nlocal reply = run()\nreturn { commands, reply }`;
  const [commands, [status]] = (await redis.call('eval', [counting, ...script.encode(input)])) as [number, [string]];
  expect(status).toBe(expected);
  return commands;
}

/** The first turn of a conversation runs 16 commands, and 18 if it checks the index, as one turn in sixteen does. */
const MOST = { accept: 18, claim: 14, settleAndClaim: 24, settle: 22, settleWithIdleTtl: 25 };

test('the scripts of a turn without tools run no more Redis commands than the listed limits', async () => {
  const conversation = newConversation();
  const claimed = async (): Promise<ClaimedTurn> => {
    const reply = await store.claim(conversation, 'owner', 'wake');
    if (reply.status !== 'claimed') throw new Error(reply.status);
    return reply.turn;
  };
  const settled = async (
    { lease, conversation: { head } }: ClaimedTurn,
    options: Pick<TurnSettlement, 'conversationTtl'> = {},
  ): Promise<number> => {
    const step = textStep('model-1', head);
    return await count(
      'settled',
      settleTurnScript,
      lease,
      { state: 'completed', answerSeq: head + 1, step, ...options },
      undefined,
    );
  };
  expect(await count('accepted', acceptTurnScript, turnFor(conversation, 't1'))).toBeLessThanOrEqual(MOST.accept);
  expect(await count('accepted', acceptTurnScript, turnFor(conversation, 't2'))).toBeLessThanOrEqual(MOST.accept);
  expect(await count('claimed', claimTurnScript, conversation, 'owner', 'wake')).toBeLessThanOrEqual(MOST.claim);
  expect(await settled(await claimed())).toBeLessThanOrEqual(MOST.settleAndClaim);
  expect(await settled(await claimed())).toBeLessThanOrEqual(MOST.settle);
  await store.accept(turnFor(conversation, 't3'));
  expect(await settled(await claimed(), { conversationTtl: 60_000 })).toBeLessThanOrEqual(MOST.settleWithIdleTtl);
});

test('a step of a turn with many recorded steps costs at most three more Redis commands', async () => {
  const conversation = newConversation();
  await store.accept(turnFor(conversation, 't'));
  const { lease } = await claimHead(store, conversation);
  const early = await count('recorded', recordStepScript, lease, textStep('model-1', 1));
  for (let step = 2; step < 100; step += 1) await store.recordStep(lease, textStep(`model-${step}`, step));
  const late = await count('recorded', recordStepScript, lease, textStep('model-100', 100));
  expect(late).toBeLessThanOrEqual(early + 3);
});
