import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { CallAnswer } from '../../src/api/client/index.ts';
import type { Agent, Tool } from '../../src/domain/agent.ts';
import type { ModelRequest } from '../../src/domain/model.ts';
import type { Waiting } from '../../src/domain/turn.ts';
import type { ScriptedOutcome } from '../../src/providers/scripted.ts';
import { agentOf, countSteps } from './agents.ts';
import { eventually, openFixture, settled } from './fixture.ts';

const fixture = await openFixture();
afterAll(() => fixture.close());
const { client } = fixture;

/** Inputs of the calls that ran, by the name of their tool. */
const ran: { readonly tool: string; readonly input: unknown }[] = [];

function toolOf(name: string, facts: Partial<Tool> = {}): Tool {
  const run = async (input: unknown) => {
    ran.push({ tool: name, input });
    return `${name} ran`;
  };
  return { name, description: '', input: z.object({ disk: z.string() }), run, ...facts };
}

const wipe = toolOf('wipe', { needsApproval: true });
const locate = { name: 'locate', description: '', input: z.object({ disk: z.string() }) } as Tool;

/** Calls each tool that the input names with these arguments, and then answers with the results. */
function agentWith(...tools: readonly Tool[]): Agent {
  const decide = (request: ModelRequest): ScriptedOutcome => {
    const asked = request.messages.findLast(({ role }) => role === 'user')?.content ?? '';
    const results = request.messages.filter(({ role }) => role === 'tool').map(({ content }) => content);
    if (countSteps(request) > 0) return { content: results.join(' | ') };
    const [names = '', json = '{"disk":"a"}'] = asked.split(/ (.*)/s);
    return {
      toolCalls: names.split(',').map((name) => ({ name, arguments: JSON.parse(json) as Record<string, unknown> })),
    };
  };
  return agentOf({ decide, tools });
}

let count = 0;

/** Starts a turn, and returns its conversation once the turn waits. */
async function ask(input: string, conversation = `c${++count}`): Promise<{ conversation: string; waiting: Waiting }> {
  await fixture.enqueue(conversation, 't1', input);
  const view = await eventually(
    () => client.result(conversation, 't1'),
    ({ waiting }) => expect(waiting?.calls.length).toBeGreaterThan(0),
  );
  if (view.waiting === undefined) throw new Error('the turn does not wait');
  return { conversation, waiting: view.waiting };
}

async function answerAll(
  { conversation, waiting }: { conversation: string; waiting: Waiting },
  answer: CallAnswer,
): Promise<string> {
  return await client.answer(conversation, 't1', Object.fromEntries(waiting.calls.map(({ id }) => [id, answer])));
}

async function resultOf(conversation: string): Promise<string | undefined> {
  return (await settled(fixture, conversation, 't1')).answer?.content;
}

const CHANGES: readonly [string, readonly Tool[]][] = [
  ['needs no approval', [{ ...wipe, needsApproval: false }]],
  ['has no run function', [{ ...wipe, run: undefined } as unknown as Tool]],
  ['is gone', [toolOf('other')]],
  ['has another name', [toolOf('erase')]],
  ['has a schema that refuses the arguments', [toolOf('wipe', { input: z.object({ path: z.string() }) })]],
  ['has a schema that changes the input', [toolOf('wipe', { input: z.object({}).transform(() => ({ disk: 'all' })) })]],
  ['has a deadline that has passed', [toolOf('wipe', { needsApproval: true, answerWithinMs: 1 })]],
  ['shares its name with another tool', [toolOf('wipe', { description: 'Cleans.', input: z.unknown() })]],
  ['may run twice', [toolOf('wipe', { retry: 'safe', timeoutMs: 1_000 })]],
  ['is read-only by the hints of its server', [toolOf('wipe', { input: z.looseObject({}), retry: 'safe' })]],
];

describe('a deployment changes a tool while its calls wait', () => {
  it.each(CHANGES)('a declined call does not run, although its tool now %s', async (_, changed) => {
    await fixture.useWorkers(agentWith(wipe));
    const asked = await Promise.all(Array.from({ length: 5 }, () => ask('wipe')));
    await fixture.useWorkers(agentWith(...changed));
    ran.length = 0;
    for (const one of asked) expect(await answerAll(one, { approved: false, why: 'no' })).toBe('answered');
    const results = await Promise.all(asked.map(({ conversation }) => resultOf(conversation)));
    expect(new Set(results)).toEqual(new Set(['denied: no']));
    expect(ran).toEqual([]);
  });

  it.each([
    [CHANGES[0]?.[1] ?? [], 'wipe ran', [{ tool: 'wipe', input: { disk: 'a' } }]],
    [CHANGES[1]?.[1] ?? [], expect.stringMatching(/^unknown_tool: the call was approved, but the tool "wipe"/), []],
    [CHANGES[3]?.[1] ?? [], expect.stringMatching(/^unknown_tool: the call was approved, but there is no tool/), []],
    [CHANGES[4]?.[1] ?? [], 'wipe ran', [{ tool: 'wipe', input: { disk: 'a' } }]],
  ])(
    'an approved call runs with the approved input or not at all after its tool has changed (%#)',
    async (changed, result, calls) => {
      await fixture.useWorkers(agentWith(wipe));
      const asked = await ask('wipe');
      await fixture.useWorkers(agentWith(...changed));
      ran.length = 0;
      await answerAll(asked, { approved: true });
      expect(await resultOf(asked.conversation)).toEqual(result);
      expect(ran).toEqual(calls);
    },
  );

  it('a call that waits for an outside result accepts only that result, although its tool can run now', async () => {
    await fixture.useWorkers(agentWith(locate));
    const [brought, late] = await Promise.all([ask('locate'), ask('locate')]);
    await fixture.useWorkers(agentWith(toolOf('locate')));
    ran.length = 0;
    await answerAll(brought, { content: 'in the cellar' });
    expect(await resultOf(brought.conversation)).toBe('in the cellar');
    await expect(answerAll(late, { approved: true })).rejects.toMatchObject({ code: 'invalid_input' });
    await client.cancel(late.conversation, 't1');
    expect(ran).toEqual([]);
  });

  it('a call that waits for an outside result still times out at its recorded deadline, although its tool can run now', async () => {
    await fixture.useWorkers(agentWith({ ...locate, answerWithinMs: 3_000 }));
    const { conversation } = await ask('locate');
    ran.length = 0;
    await fixture.useWorkers(agentWith(toolOf('locate')));
    expect(await resultOf(conversation)).toMatch(/^timeout: /);
    expect(ran).toEqual([]);
  });

  it('a round with approvals and outside results records its second wait when that wait begins', async () => {
    await fixture.useWorkers(agentWith(wipe, locate));
    const first = await ask('wipe,locate');
    expect(first.waiting).toMatchObject({ for: 'approval', calls: [{ name: 'wipe' }] });
    await answerAll(first, { approved: false });
    const { waiting } = await eventually(
      () => client.result(first.conversation, 't1'),
      (view) => expect(view.waiting?.for).toBe('tools'),
    );
    await fixture.useWorkers(agentWith(wipe, toolOf('locate')));
    ran.length = 0;
    await answerAll({ ...first, waiting: waiting as Waiting }, { content: 'found' });
    expect(await resultOf(first.conversation)).toBe('denied: the call was not approved | found');
    expect(ran).toEqual([]);
  });
});

describe('the input that a person approves', () => {
  const amount = z.object({
    amount: z.coerce.number().transform((euros) => euros / 2),
    to: z.string().default('house'),
  });
  const pay = toolOf('pay', { input: amount, needsApproval: true });
  const APPROVED = { amount: 50, to: 'house' };

  it('the input of a call is shown to a person everywhere as the input that run receives', async () => {
    await fixture.useWorkers(agentWith(pay));
    const { conversation, waiting } = await ask('pay {"amount":"100"}');
    const shown = { arguments: '{"amount":"100"}', input: JSON.stringify(APPROVED) };
    expect(waiting.calls).toMatchObject([shown]);
    expect((await client.describe(conversation)).openCalls).toMatchObject([shown]);
    expect((await client.openTurns(conversation)).turns[0]?.waiting?.calls).toMatchObject([shown]);
    const listed = (await client.waiting()).turns.find((turn) => turn.conversation === conversation);
    expect(listed?.waiting.calls).toMatchObject([shown]);
    for await (const event of client.events(conversation, { after: '0', waitMs: 0 })) {
      expect(event).toMatchObject({ type: 'turn_waiting', calls: [shown] });
    }
    ran.length = 0;
    await client.answer(conversation, 't1', { [waiting.calls[0]?.id ?? '']: { approved: true } });
    await settled(fixture, conversation, 't1');
    expect(ran).toEqual([{ tool: 'pay', input: APPROVED }]);
  });

  it('an approved input is not parsed again by the schema of a later deployment', async () => {
    await fixture.useWorkers(agentWith(pay));
    const asked = await ask('pay {"amount":"100"}');
    await fixture.useWorkers(agentWith(toolOf('pay', { input: amount.transform(() => ({ amount: 9e9, to: 'me' })) })));
    ran.length = 0;
    await answerAll(asked, { approved: true });
    await settled(fixture, asked.conversation, 't1');
    expect(ran).toEqual([{ tool: 'pay', input: APPROVED }]);
  });

  it('an approved input that JSON cannot hold runs only if it is still parsed to the approved input', async () => {
    const on = (day: string) =>
      toolOf('book', {
        input: z.object({ day: z.string().transform((text) => new Date(day || text)) }),
        needsApproval: true,
      });
    await fixture.useWorkers(agentWith(on('')));
    const [same, other] = [await ask('book {"day":"2026-05-01"}'), await ask('book {"day":"2026-05-01"}')];
    expect(same.waiting.calls).toMatchObject([{ input: '{ day: 2026-05-01T00:00:00.000Z }', isShownOnly: true }]);
    ran.length = 0;
    await answerAll(same, { approved: true });
    await settled(fixture, same.conversation, 't1');
    expect(ran).toEqual([{ tool: 'book', input: { day: new Date('2026-05-01') } }]);
    await fixture.useWorkers(agentWith(on('2027-01-01')));
    await answerAll(other, { approved: true });
    expect(await resultOf(other.conversation)).toMatch(/^invalid_input: .*no longer makes the input that was approved/);
    expect(ran).toHaveLength(1);
  });
});

describe('an answer', () => {
  it('an answer with the hash of a call from an erased conversation is refused, and the new call keeps waiting', async () => {
    await fixture.useWorkers(agentWith(wipe));
    const first = await ask('wipe', 'again');
    await client.erase('again');
    const second = await ask('wipe', 'again');
    const [old, present] = [first.waiting.calls[0], second.waiting.calls[0]];
    expect(present?.id).toBe(old?.id);
    expect(present?.hash).not.toBe(old?.hash);
    ran.length = 0;
    const id = old?.id ?? '';
    await expect(client.answer('again', 't1', { [id]: { approved: true, hash: old?.hash } })).rejects.toMatchObject({
      code: 'conflict',
      field: `answers.${id}`,
    });
    await expect(client.answer('again', 't1', { [id]: { approved: true } }), 'the id alone').rejects.toMatchObject({
      code: 'conflict',
      field: `answers.${id}`,
    });
    expect((await client.result('again', 't1')).state).toBe('waiting');
    await client.answer('again', 't1', { [id]: { approved: false, hash: present?.hash } });
    expect(await resultOf('again')).toBe('denied: the call was not approved');
    await expect(
      client.answer('again', 't1', { [id]: { approved: false, hash: old?.hash } }),
      'nor is it taken for a repeated answer afterwards',
    ).rejects.toMatchObject({ code: 'conflict' });
    expect(ran).toEqual([]);
  });

  it('an answer that contradicts an earlier answer is refused with the recorded decision, even after the turn has settled', async () => {
    await fixture.useWorkers(agentWith(wipe));
    const { conversation, waiting } = await ask('wipe');
    const id = waiting.calls[0]?.id ?? '';
    const decide = (approved: boolean, by: string) => client.answer(conversation, 't1', { [id]: { approved, by } });
    const ends = await Promise.allSettled([decide(true, 'ann'), decide(false, 'bob')]);
    expect(ends.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    const isApproved = ends[0]?.status === 'fulfilled';
    const by = isApproved ? 'ann' : 'bob';
    const refusal = { code: 'conflict', details: { decision: { approved: isApproved, by, at: expect.any(Number) } } };
    expect(ends.find((end) => end.status === 'rejected')?.reason).toMatchObject(refusal);
    const { answer } = await settled(fixture, conversation, 't1');
    expect(answer?.content).toBe(isApproved ? 'wipe ran' : 'denied: the call was not approved');
    expect(await decide(isApproved, 'eve'), 'the same decision again').toBe('answered');
    await expect(decide(!isApproved, 'eve')).rejects.toMatchObject(refusal);
  });

  it('an answer with another result than the recorded result is refused', async () => {
    await fixture.useWorkers(agentWith(locate));
    const asked = await ask('locate');
    expect(await answerAll(asked, { content: 'here' })).toBe('answered');
    expect(await answerAll(asked, { content: 'here', isError: false })).toBe('answered');
    await expect(answerAll(asked, { content: 'there' })).rejects.toMatchObject({ code: 'conflict' });
  });

  it('an answer marks its call as decided in every view, while the other call of the turn is open', async () => {
    await fixture.useWorkers(agentWith(wipe, toolOf('burn', { needsApproval: true })));
    const { conversation, waiting } = await ask('wipe,burn');
    const [first = '', second = ''] = waiting.calls.map(({ id }) => id);
    const answer = { [first]: { approved: false, why: 'no', by: 'ann' } };
    expect(await client.answer(conversation, 't1', answer)).toBe('still_waiting');
    const marks = [{ id: first, decision: { approved: false, by: 'ann' } }, { id: second }];
    const views = [
      (await client.result(conversation, 't1')).waiting?.calls,
      (await client.openTurns(conversation)).turns[0]?.waiting?.calls,
      (await client.waiting()).turns.find((turn) => turn.conversation === conversation)?.waiting.calls,
      (await client.describe(conversation)).openCalls,
    ];
    for (const calls of views) {
      expect(calls).toMatchObject(marks);
      expect(calls?.[1]).not.toHaveProperty('decision');
    }
    for await (const part of client.stream(conversation, 't1')) {
      if (part.type !== 'wait') continue;
      expect(part.waiting.calls, 'a stream that begins now').toMatchObject(marks);
      break;
    }
    const both = { [first]: { approved: true }, [second]: { approved: true } };
    await expect(client.answer(conversation, 't1', both)).rejects.toMatchObject({ code: 'conflict' });
    const { waiting: left } = await client.result(conversation, 't1');
    expect(left?.calls[1], 'a refused answer stores nothing').not.toHaveProperty('decision');
    expect(await client.answer(conversation, 't1', { [second]: { approved: false } })).toBe('answered');
  });
});
