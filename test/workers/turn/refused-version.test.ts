import { expect, it } from 'vitest';
import { NO_BACKOFF } from '../../../src/domain/conversation.ts';
import { nameConversation } from '../../../src/domain/ids.ts';
import { ModelError, type ModelRequest } from '../../../src/domain/model.ts';
import { START_VERSION } from '../../../src/domain/version.ts';
import { type ScriptedOutcome, scriptedModel } from '../../../src/providers/scripted.ts';
import { bindPort, isCrash, WorkerDeath } from '../worker-death.ts';
import { Fixture, ref } from './fixture.ts';

const refused = new ModelError('invalid', 'messages.1: no result', {
  code: 'invalid_request_error',
  form: '{"roles":[]}',
});

const perhapsTooLong = new ModelError('invalid', 'the request is malformed', { mayBeTooLong: true });

async function openWith(outcomes: readonly ScriptedOutcome[]) {
  const requests: ModelRequest[] = [];
  const model = scriptedModel({
    decide: (request) => {
      requests.push(request);
      return outcomes[requests.length - 1] ?? new Error('no answer left');
    },
  });
  return { world: await Fixture.open({ model }), requests };
}

async function answerTurns(world: Fixture, ...turns: readonly string[]): Promise<void> {
  for (const turn of turns) {
    await world.accept(turn, `question of ${turn}`);
    await world.deliver();
  }
}

/** Commits a version, made by a compaction pass, that keeps this many messages in the context. */
async function commitPass(world: Fixture, keep: number): Promise<void> {
  const passId = world.nextId();
  await world.ports.passes.requestPass({ conversation: ref, reasons: ['manual'], passId, wake: world.nextId() });
  await world.endPass(keep);
}

/**
 * Answers two turns, and commits a context version without the first messages. Then a third turn runs with these model
 * answers.
 */
async function runOver(...answers: readonly ScriptedOutcome[]) {
  const { world, requests } = await openWith([{ content: 'one' }, { content: 'two' }, ...answers]);
  await answerTurns(world, 't1', 't2');
  await commitPass(world, 2);
  await answerTurns(world, 't3');
  return { world, sent: requests.slice(2) };
}

/** Answers two turns, and commits two context versions. Then a third turn runs with these model answers. */
async function runOverTwo(...answers: readonly ScriptedOutcome[]) {
  const { world, requests } = await openWith([{ content: 'one' }, { content: 'two' }, ...answers]);
  await answerTurns(world, 't1', 't2');
  await commitPass(world, 3);
  await commitPass(world, 1);
  await answerTurns(world, 't3');
  return { world, sent: requests.slice(2) };
}

it('after a provider refuses the form of a compacted context, the version is rolled back and quarantined, and the step runs again', async () => {
  const { world, sent } = await runOver(refused, { content: 'three' });
  expect(await world.view('t3')).toMatchObject({ state: 'completed', answer: { content: 'three' } });
  expect(sent.map(({ version, messages }) => [version, messages.length])).toEqual([
    [1, 3],
    [2, 5],
  ]);
  const conversation = await world.db.find(ref);
  expect(conversation?.versions.get(2)).toMatchObject({
    number: 2,
    parent: 1,
    cause: 'rollback',
    base: 0,
    segments: [],
  });
  expect(conversation?.versions.has(1)).toBe(true);
  expect(conversation?.quarantine).toMatchObject({ version: 2 });
  expect(world.eventsOf('version_refused')).toEqual([
    {
      type: 'version_refused',
      by: 'provider',
      ...nameConversation(ref),
      turn: 't3',
      version: 1,
      codes: ['invalid_request_error'],
      message: 'messages.1: no result',
      form: '{"roles":[]}',
    },
  ]);
});

it('after a provider refuses a compacted context with an error about its length, the next context is smaller', async () => {
  const { world } = await runOver(perhapsTooLong, { content: 'three' });
  expect(world.passRequests.at(-1)).toMatchObject({ reasons: ['overflow'] });
  await world.endPass(1);
  await world.deliver();
  expect(await world.view('t3')).toMatchObject({ state: 'completed', answer: { content: 'three' } });
  const outcomes = world.eventsOf('model_called').map(({ outcome }) => outcome);
  expect(outcomes.slice(2)).toEqual(['invalid', 'answered']);
  expect((await world.db.find(ref))?.versions.get(2)).toMatchObject({ cause: 'pass', parent: 1 });
  expect(world.eventsOf('version_refused')).toEqual([]);
});

it('a turn fails if the provider refuses the smaller context with the same error about its length', async () => {
  const { world } = await runOver(perhapsTooLong, perhapsTooLong);
  await world.endPass(1);
  await world.deliver();
  expect(await world.view('t3')).toMatchObject({ state: 'failed', failure: { code: 'model_failed' } });
  expect(world.eventsOf('model_called')).toHaveLength(4);
  expect((await world.db.find(ref))?.versions.get(2)).toMatchObject({ cause: 'pass', parent: 1 });
});

it.each([
  ['and reported its usage', { usage: { inputTotal: 10, output: 2, outputKept: 2 } }],
  ['and reported no usage', {}],
])(
  'a compacted context stays live after a refusal if the provider has answered a request with that context %s',
  async (_, told) => {
    const { world } = await runOver({ content: 'three', ...told }, refused);
    await world.accept('t4', 'what no provider takes');
    await world.deliver();
    expect(await world.view('t3')).toMatchObject({ state: 'completed' });
    const { failure } = (await world.view('t4')) ?? {};
    expect(failure).toMatchObject({ code: 'model_failed', details: { form: '{"roles":[]}' } });
    const { versions, quarantine } = (await world.db.find(ref)) ?? {};
    // The messages of the refused turn leave the context, which is else as before.
    const [compacted, live] = [versions?.get(1), versions?.get(2)];
    expect(live).toMatchObject({ parent: 1, cause: 'rollback', explained: ['turn_refused'] });
    expect(live?.segments[0]).toEqual(compacted?.segments[0]);
    expect(quarantine).toBeUndefined();
  },
);

it('a turn fails if the provider refuses both a compacted context and the uncompacted one', async () => {
  const { world, sent } = await runOver(refused, refused);
  expect(await world.view('t3')).toMatchObject({
    state: 'failed',
    failure: { code: 'model_failed', details: { code: 'invalid_request_error' } },
  });
  expect(sent).toHaveLength(2);
  expect((await world.db.find(ref))?.versions.get(2)).toMatchObject({
    cause: 'rollback',
    explained: ['version_refused'],
  });
});

it('a refused version of the context is replaced by its parent’s parent if the provider refuses the parent as well', async () => {
  const { world, sent } = await runOverTwo(refused, refused, { content: 'three' });
  expect(await world.view('t3')).toMatchObject({ state: 'completed', answer: { content: 'three' } });
  expect(sent.map(({ version, messages }) => [version, messages.length])).toEqual([
    [2, 2],
    [3, 4],
    [4, 5],
  ]);
  const { versions, size } = (await world.db.find(ref)) ?? {};
  expect(size?.version).toBe(4);
  expect(versions?.get(3)).toMatchObject({ cause: 'rollback', parent: 2, base: 1, explained: ['version_refused'] });
  expect(versions?.get(4)).toMatchObject({ cause: 'rollback', parent: 3, base: 0 });
  expect(world.eventsOf('version_refused').map((event) => event.version)).toEqual([2, 3]);
});

it('refused versions of the context are replaced one after the other, down to the full log', async () => {
  const { world, sent } = await runOverTwo(refused, refused, refused);
  expect(await world.view('t3')).toMatchObject({ state: 'failed', failure: { code: 'model_failed' } });
  expect(sent).toHaveLength(3);
});

it('the replacement of refused context versions ends at a version with which the provider has answered before', async () => {
  const usage = { inputTotal: 10, output: 2, outputKept: 2 };
  const answers = [{ content: 'one' }, { content: 'two', usage }, refused, refused, refused];
  const { world, requests } = await openWith(answers);
  await answerTurns(world, 't1');
  await commitPass(world, 1);
  await answerTurns(world, 't2');
  await commitPass(world, 2);
  await commitPass(world, 1);
  await answerTurns(world, 't3');
  expect(await world.view('t3')).toMatchObject({ state: 'failed', failure: { code: 'model_failed' } });
  expect(requests.map(({ version }) => version)).toEqual([0, 1, 3, 4, 5]);
  expect((await world.db.find(ref))?.versions.get(5), 'shows version 1').toMatchObject({ cause: 'rollback', base: 1 });
});

it('a refused version of the context is not replaced if a caller chose it by a rollback', async () => {
  const { world, requests } = await openWith([{ content: 'one' }, refused]);
  await answerTurns(world, 't1');
  await commitPass(world, 1);
  const { head = 0, versions } = (await world.db.find(ref)) ?? {};
  const replaced = await world.store.replaceVersion({
    conversation: ref,
    operation: 'op',
    expectedVersion: 1,
    expectedHead: head,
    version: { ...START_VERSION, ...versions?.get(1), number: 2, cause: 'rollback', explained: ['turn_rolled_back'] },
    backoff: NO_BACKOFF,
    keepsNewer: false,
    wakeTurn: 'w',
    keepVersions: 10,
  });
  expect(replaced).toMatchObject({ status: 'replaced', version: 2 });
  await answerTurns(world, 't2');
  expect(await world.view('t2')).toMatchObject({ state: 'failed', failure: { code: 'model_failed' } });
  expect(requests).toHaveLength(2);
});

it('a refused version of the context is not rolled back if another version went live meanwhile', async () => {
  const world: { current?: Fixture } = {};
  const answers: ScriptedOutcome[] = [];
  const model = scriptedModel({
    decide: async (request) => {
      if (request.messages.length > 1 && answers.length === 0) {
        answers.push(refused);
        await world.current?.ports.passes.requestPass({
          conversation: ref,
          reasons: ['manual'],
          passId: 'p2',
          wake: 'w2',
        });
        await world.current?.endPass(1);
        return refused;
      }
      return { content: 'there' };
    },
  });
  const opened = await Fixture.open({ model });
  world.current = opened;
  await opened.accept('t1', 'first');
  await opened.deliver();
  await opened.ports.passes.requestPass({ conversation: ref, reasons: ['manual'], passId: 'p1', wake: 'w1' });
  await opened.endPass(1);
  await opened.accept('t2', 'second');
  await opened.deliver();
  expect(await opened.view('t2')).toMatchObject({ state: 'completed', answer: { content: 'there' } });
  expect(opened.eventsOf('version_refused')).toEqual([]);
  expect((await opened.db.find(ref))?.versions.get(2)).toMatchObject({ cause: 'pass' });
});

const tooLong = new ModelError('overflow', 'prompt is too long', { code: 'context_length_exceeded' });

/**
 * Answers two turns, and lets a third one wait for a compaction pass. Then it continues with these model answers. The
 * window is too small for all three turns.
 */
async function waitForHardPass(...answers: readonly ScriptedOutcome[]) {
  const outcomes = [{ content: 'word '.repeat(900) }, { content: 'two' }, ...answers];
  const sent: (number | undefined)[] = [];
  const model = scriptedModel({
    profile: { windowTokens: 2_500, outputCapTokens: 500, upperBoundFactor: 1.1 },
    decide: ({ version }) => outcomes[sent.push(version) - 1] ?? new Error('no answer left'),
  });
  const world = await Fixture.open({ model, policy: { thresholdRatio: 0.9, maxTokens: 1_000 } });
  await answerTurns(world, 't1', 't2');
  await world.accept('t3', 'word '.repeat(1_000));
  await world.deliver();
  return { world, sent };
}

it('a turn whose provider refuses a compacted context rolls the context back, and waits for another compaction pass', async () => {
  const { world, sent } = await waitForHardPass(refused, { content: 'three' });
  expect(await world.view('t3')).toMatchObject({ state: 'waiting', waiting: { for: 'compaction' } });
  await world.endPass(1);
  await world.deliver();
  expect(await world.view('t3')).toMatchObject({ state: 'waiting', waiting: { for: 'compaction' } });
  expect((await world.db.find(ref))?.quarantine).toMatchObject({ version: 2 });
  expect(world.passRequests.map(({ reasons }) => reasons)).toEqual([
    ['ratio', 'hard_limit'],
    ['ratio', 'hard_limit'],
  ]);
  await world.endPass(2);
  await world.deliver();
  expect(await world.view('t3')).toMatchObject({ state: 'completed', answer: { content: 'three' } });
  expect(sent.slice(2)).toEqual([1, 3]);
});

it('a turn fails if the provider refuses the results of both compaction passes that the turn waited for', async () => {
  const { world, sent } = await waitForHardPass(refused, refused);
  await world.endPass(1);
  await world.deliver();
  await world.endPass(2);
  await world.deliver();
  expect(await world.view('t3')).toMatchObject({ state: 'failed', failure: { code: 'model_failed' } });
  expect(sent.slice(2)).toEqual([1, 3]);
});

it('a turn whose worker died after a rollback of the context waits for another compaction pass and is completed', async () => {
  const { world } = await waitForHardPass(refused, { content: 'three' });
  await world.endPass(1);
  let death = new WorkerDeath();
  const turns = { ...world.ports.turns };
  const rollBackVersion: typeof turns.rollBackVersion = async (...args) => {
    await turns.rollBackVersion(...args);
    return death.happen();
  };
  Object.assign(world.ports, { turns: bindPort({ ...turns, rollBackVersion }, () => death) });
  world.db.advance(1_000);
  await expect(world.deliver()).rejects.toSatisfy(isCrash);
  death = new WorkerDeath();
  world.db.advance(10_000);
  await world.deliver();
  expect(await world.view('t3')).toMatchObject({ state: 'waiting', waiting: { for: 'compaction' } });
});

it('a turn whose request was first too long and then refused for its form rolls back and waits for another compaction pass', async () => {
  const answers = [{ content: 'one' }, { content: 'two' }, tooLong, refused, tooLong, { content: 'three' }];
  const { world, requests } = await openWith(answers);
  await answerTurns(world, 't1', 't2', 't3');
  await world.endPass(1);
  await world.deliver();
  expect(await world.view('t3')).toMatchObject({ state: 'waiting', waiting: { for: 'compaction' } });
  expect(world.passRequests.map(({ reasons }) => reasons)).toEqual([['overflow'], ['overflow']]);
  await world.endPass(2);
  await world.deliver();
  expect(await world.view('t3')).toMatchObject({ state: 'completed', answer: { content: 'three' } });
  expect(requests.slice(2).map(({ version }) => version)).toEqual([0, 1, 2, 3]);
});

it('the event of a model call has the provider’s token count and turnfold’s own for the same request', async () => {
  const usage = { inputTotal: 60, output: 5, outputKept: 5 };
  const world = await Fixture.open({ model: scriptedModel({ decide: () => ({ content: 'there', usage }) }) });
  await world.accept('t1', 'Hi');
  await world.deliver();
  await world.accept('t2', 'Ho');
  await world.deliver();
  const [first, second] = world.observed;
  expect(first).toMatchObject({ model: 'scripted', providerTokens: 60 });
  expect(second?.counted, 'no anchor in it').toBe((first?.counted ?? 0) + 5 + 5);
});
