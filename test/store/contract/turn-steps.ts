import { expect, test } from 'vitest';
import { acceptAndClaim, callsStep, claimHead, newConversation, resultStep, textStep } from '../samples.ts';
import type { Given } from './fixture.ts';

export function describeSteps(given: Given): void {
  test('startSteps records the steps of a turn that a worker starts, and leaves recorded steps unchanged', async () => {
    const { store, observe, conversation, lease } = await given.running();
    await store.recordStep(lease, textStep('done', 1));
    const before = await observe(conversation);
    expect(await store.startSteps(lease, ['done', 'a', 'b'])).toEqual({ status: 'recorded' });
    const after = await observe(conversation);
    expect(after.shape.turns['t1']?.steps).toEqual({
      done: { status: 'done', seqs: { from: 2, to: 2 } },
      a: { status: 'started' },
      b: { status: 'started' },
    });
    expect(after.times.lease, 'extends nothing').toBe(before.times.lease);
    expect(await store.startSteps(lease, ['done', 'a', 'b'])).toEqual({ status: 'recorded' });
    expect((await observe(conversation)).shape).toEqual(after.shape);
  });

  test('readSteps shows the records of a turn and the claim of its worker, until the worker gives the turn up', async () => {
    const { store, conversation, lease } = await given.running();
    await store.recordStep(lease, callsStep('model-1', 1));
    await store.startSteps(lease, ['tool-c2_0']);
    const running = await store.readSteps(conversation, 't1');
    expect([...(running?.steps ?? [])]).toMatchObject([
      ['model-1', { status: 'done', seqs: { from: 2, to: 2 } }],
      ['tool-c2_0', { status: 'started' }],
    ]);
    expect(running?.claim).toEqual({ attempts: 1, leaseUntil: expect.any(Number) });
    const waitMs = 60_000;
    await store.suspend(lease, { for: 'compaction', step: 'model-2', calls: [], waitMs });
    expect(await store.readSteps(conversation, 't1')).not.toHaveProperty('claim');
    expect(await store.readSteps(conversation, 'unknown')).toBeUndefined();
  });

  test('recordStep appends the messages of a step once, even if the call is repeated', async () => {
    const { store, observe, conversation, lease } = await given.running();
    const step = callsStep('model.1', 1);
    const recorded = await store.recordStep(lease, step);
    expect(recorded).toMatchObject({ status: 'recorded', conversation: { head: 2 } });
    expect((await observe(conversation)).shape.openCalls).toEqual({ c2_0: 'call_c2_0', c2_1: 'call_c2_1' });
    const before = await observe(conversation);
    expect(await store.recordStep(lease, step)).toEqual({ ...recorded, status: 'known' });
    expect((await observe(conversation)).shape).toEqual(before.shape);
  });

  test('a repeated recordStep replies known with the current state of the conversation', async () => {
    const { store, observe, conversation, lease } = await given.running();
    const step = callsStep('model.1', 1, 1);
    await store.recordStep(lease, step);
    await store.recordStep(lease, resultStep('tool:c2_0', 'c2_0'));
    expect(await store.recordStep(lease, step)).toMatchObject({
      status: 'known',
      conversation: { head: 3 },
    });
    expect((await observe(conversation)).shape.openCalls).toEqual({});
  });

  test('recordStep of several messages appends them in order, and recordStep without messages appends nothing to the log', async () => {
    const { store, observe, conversation, lease } = await given.running();
    await store.recordStep(lease, callsStep('model.1', 1, 3));
    const results = ['c2_0', 'c2_1', 'c2_2'].map((call) => resultStep('', call));
    await store.recordStep(lease, {
      key: 'tools',
      messages: results.flatMap(({ messages }) => messages),
      opens: [],
      closes: results.flatMap(({ closes }) => closes),
    });
    await store.recordStep(lease, { key: 'none', messages: [], opens: [], closes: [] });
    const { steps } = (await observe(conversation)).shape.turns['t1'] ?? {};
    expect(steps?.['tools']).toEqual({ status: 'done', seqs: { from: 3, to: 5 } });
    expect(steps?.['none']).toEqual({ status: 'done' });
  });

  test('recordStep is refused as fenced and writes nothing if the log has another length than the worker expects', async () => {
    const { store, observe, conversation, lease } = await given.running();
    const before = await observe(conversation);
    expect(await store.recordStep(lease, callsStep('model.1', 7))).toEqual({ status: 'fenced' });
    expect((await observe(conversation)).shape).toEqual(before.shape);
  });

  test('recordStep extends the turn’s lease, and the sweeper checks the turn only after the lease’s new end', async () => {
    const { store, observe, lapseLease, conversation, lease } = await given.running();
    await lapseLease('turn', conversation);
    await store.recordStep(lease, textStep('s', 1));
    const { times } = await observe(conversation);
    expect(times.lease).toBeGreaterThan(times.now);
    expect(times.ready['t']).toBe(times.lease);
  });

  test('recordStep adds up token usage, and stores the provider’s size count and the full texts of clipped results', async () => {
    const { store, observe, conversation, lease } = await given.running();
    const usage = { inputTokens: 100, outputTokens: 7 };
    await store.recordStep(lease, {
      ...textStep('s1', 1),
      usage,
      requestTokens: 90,
      anchor: { tokens: 107, version: 0, fingerprint: 'a1b2' },
    });
    const texts = new Map([
      ['h1', '{"whole":[]}'],
      ['h2', 'line\nline'],
    ]);
    const reply = await store.recordStep(lease, { ...textStep('s2', 2), usage, requestTokens: 95, fullTexts: texts });
    const { turns, texts: kept } = (await observe(conversation)).shape;
    expect(turns['t1']).toMatchObject({ inputTokens: 200, outputTokens: 14, requestTokens: [90, 95] });
    expect(kept).toEqual(Object.fromEntries(texts));
    expect(reply).toMatchObject({
      conversation: { size: { anchor: { seq: 2, tokens: 107, version: 0, fingerprint: 'a1b2', isWhole: true } } },
    });
    if (reply.status !== 'recorded') throw new Error(reply.status);
    const { anchor, headTotal } = reply.conversation.size;
    expect(headTotal.tokens - (anchor?.total.tokens ?? 0), 'what came after the anchor').toBe('answer'.length + 4);
  });

  test('recordStep stores the sizes and limits of the last model request, for readers that do not know the agent', async () => {
    const { store } = given.harness();
    const { lease, conversation } = await acceptAndClaim(store, newConversation(), 't1');
    expect(conversation).not.toHaveProperty('requestFacts');
    const requestFacts = {
      systemTokens: 7,
      toolTokens: 0,
      pinTokens: 3,
      windowTokens: 32_000,
      reservedTokens: 8_192,
      upperBoundFactor: 1.35,
      maxTokens: 2_000,
      ratioTokens: 17_000,
      hardTokens: 18_000,
    };
    await store.recordStep(lease, { ...textStep('s1', 1), requestFacts: { ...requestFacts, tokenThreshold: 9_000 } });
    const policy = { retentionWindow: 2, strategy: { evict: 0.3 } };
    await store.recordStep(lease, { ...textStep('s2', 2), requestFacts: { ...requestFacts, policy } });
    await store.recordStep(lease, textStep('s3', 3));
    expect((await store.readConversation(lease.conversation))?.requestFacts).toEqual({ ...requestFacts, policy });
  });

  test('recordStep stores the number of the newest context version that a model answered', async () => {
    const { store } = given.harness();
    const { lease, conversation } = await acceptAndClaim(store, newConversation(), 't1');
    expect(conversation).not.toHaveProperty('answeredVersion');
    const first = await store.recordStep(lease, { ...textStep('s1', 1), answeredVersion: 0 });
    expect(first).toMatchObject({ status: 'recorded', conversation: { answeredVersion: 0 } });
    const newer = await store.recordStep(lease, { ...textStep('s2', 2), answeredVersion: 3 });
    expect(newer).toMatchObject({ conversation: { answeredVersion: 3 } });
    const older = await store.recordStep(lease, { ...textStep('s3', 3), answeredVersion: 2 });
    expect(older).toMatchObject({ conversation: { answeredVersion: 3 } });
    const tool = await store.recordStep(lease, textStep('s4', 4));
    expect(tool).toMatchObject({ status: 'recorded', conversation: { answeredVersion: 3 } });
  });

  test('a context size counted by the provider is read back without a fingerprint if it was stored without one', async () => {
    const { store } = given.harness();
    const { lease } = await acceptAndClaim(store, newConversation(), 't1');
    const reply = await store.recordStep(lease, { ...textStep('s1', 1), anchor: { tokens: 107, version: 0 } });
    if (reply.status !== 'recorded') throw new Error(reply.status);
    expect(reply.conversation.size.anchor).not.toHaveProperty('fingerprint');
    expect(reply.conversation.size.anchor).toHaveProperty('isWhole', true);
  });

  test('an answer that the model did not complete is recorded as incomplete in its step and in its turn', async () => {
    const { store, observe, lapseLease, conversation, lease } = await given.running();
    await store.recordStep(lease, { ...textStep('s1', 1, 'Half an ans'), end: 'cut_off' });
    await store.recordStep(lease, textStep('s2', 2));
    await lapseLease('turn', conversation);
    const { lease: again, steps } = await claimHead(store, conversation);
    expect(steps.get('s1')).toMatchObject({ status: 'done', seqs: { from: 2, to: 2 }, end: 'cut_off' });
    expect(steps.get('s2')).not.toHaveProperty('end');
    await store.settle(again, { state: 'completed', answerSeq: 2, end: 'cut_off' }, 'w');
    const view = await store.readTurn(conversation, 't1');
    expect(view?.answer).toEqual({ seq: 2, content: 'Half an ans', end: 'cut_off' });
    expect((await observe(conversation)).shape.turns['t1']).toMatchObject({ state: 'completed', answerSeq: 2 });
  });

  test('readTurn returns the text of an answer byte for byte as it was recorded, also if the text is JSON', async () => {
    const { store, conversation, lease } = await given.running();
    const content = '{"empty":[],"object":{},"big":12345678901234567890,"text":"a\\nb ü 🙂 \\u0000"}';
    await store.recordStep(lease, textStep('s', 1, content));
    await store.settle(lease, { state: 'completed', answerSeq: 2 }, 'w');
    expect((await store.readTurn(conversation, 't1'))?.answer).toEqual({ seq: 2, content });
  });

  test('a turn of 100 tool calls has each call and result in the log', async () => {
    const { store, observe, conversation, lease } = await given.running();
    for (let round = 0; round < 100; round += 1) {
      const head = 1 + 2 * round;
      await store.recordStep(lease, callsStep(`model.${round}`, head, 1));
      const reply = await store.recordStep(lease, resultStep(`tool.${round}`, `c${head + 1}_0`));
      expect(reply).toMatchObject({ status: 'recorded', conversation: { head: head + 2 } });
    }
    expect((await observe(conversation)).shape.openCalls).toEqual({});
    expect((await observe(conversation)).shape.log).toHaveLength(201);
  });

  test('heartbeat extends the turn’s lease, and the sweeper checks the turn only after the lease’s new end', async () => {
    const { store, observe, lapseLease, conversation, lease } = await given.running();
    await lapseLease('turn', conversation);
    expect(await store.heartbeat(lease)).toEqual({ status: 'renewed' });
    const { shape, times } = await observe(conversation);
    expect(times.lease).toBeGreaterThan(times.now);
    expect(times.ready['t']).toBe(times.lease);
    expect(await store.heartbeat(lease)).toEqual({ status: 'renewed' });
    expect((await observe(conversation)).shape).toEqual(shape);
  });

  test('writes of a worker that runs a turn get the reply gone after the conversation was erased', async () => {
    const { store, markGone, conversation, lease } = await given.running();
    await markGone(conversation);
    const gone = { status: 'gone' };
    expect(await store.heartbeat(lease)).toEqual(gone);
    expect(await store.startSteps(lease, ['s'])).toEqual(gone);
    expect(await store.recordStep(lease, textStep('s', 1))).toEqual(gone);
    expect(await store.suspend(lease, { for: 'retry', step: 's', waitMs: 0, calls: [] })).toEqual(gone);
    expect(await store.settle(lease, { state: 'completed', answerSeq: 1 }, 'w')).toEqual(gone);
    expect(await store.answerTurn({ conversation, turn: 't1', answers: new Map(), wake: 'w' })).toEqual(gone);
    expect(await store.cancel(conversation, 't1', 'w')).toEqual({ status: 'not_found' });
  });
}
