import { afterAll, expect, test } from 'vitest';
import { z } from 'zod';
import { type Agent, defineTool } from '../../src/domain/agent.ts';
import type { WireFormat } from '../../src/domain/raw-items.ts';
import { connect, PROFILE } from '../models/fixture.ts';
import type { RawAnswer } from '../provider/fault.ts';
import { type Provider, startProvider } from '../provider/provider.ts';
import type { Outcome, ProviderRequest } from '../provider/script.ts';
import { words } from './agents.ts';
import { eventually, openFixture, settled } from './fixture.ts';

const fixture = await openFixture();

afterAll(() => fixture.close());

const FORMATS: readonly WireFormat[] = ['openai-chat', 'openai-responses', 'anthropic'];

/** Word that the filter of the provider declines, wherever a request holds it. */
const BAD = 'forbidden-word';

const refusal = (code: string, message: string, status = 400): RawAnswer => ({
  status,
  body: { type: 'error', error: { type: 'invalid_request_error', code, message } },
});

const DECLINED = refusal('content_filter', 'The prompt was declined.');

const isBad = ({ body }: ProviderRequest): boolean => JSON.stringify(body).includes(BAD);

/** A provider that refuses each request with the bad word, and answers any other. */
async function startFilter(
  answer: RawAnswer,
  otherwise: (request: ProviderRequest) => Outcome = () => ({ text: 'Fine.' }),
) {
  return await startProvider({
    answers: (request) => (isBad(request) ? { fault: 'raw', answer } : otherwise(request)),
    strict: false,
  });
}

function guide(format: WireFormat, provider: Provider, changes: Partial<Agent> = {}): Agent {
  const model = connect(format, provider, { profile: PROFILE });
  return { name: 'guide', system: 'You guide.', tools: [], policy: { retentionWindow: 2 }, model, ...changes };
}

async function runTurn(conversation: string, turn: string, input: string) {
  await fixture.enqueue(conversation, turn, input);
  return await settled(fixture, conversation, turn);
}

const contextOf = async (conversation: string): Promise<string[]> =>
  (await fixture.client.context(conversation)).items.map(({ message }) => message.content);

const leftOf = async (conversation: string): Promise<unknown[]> =>
  (await fixture.client.log(conversation)).map(({ left }) => left);

test.each(FORMATS)('a first message that the content filter of %s declines leaves the context', async (format) => {
  await using provider = await startFilter(DECLINED);
  await fixture.useWorkers(guide(format, provider));
  const conversation = `first-${format}`;
  const failed = await runTurn(conversation, 't1', BAD);
  expect(failed).toMatchObject({ state: 'failed', failure: { code: 'model_failed' } });
  expect(failed.failure?.message).toContain('The messages of this turn leave the context');
  // The context is right before another turn comes.
  await eventually(
    () => contextOf(conversation),
    (shown) => expect(shown).toEqual([]),
  );
  expect(await runTurn(conversation, 't2', 'Hello?')).toMatchObject({ state: 'completed' });
  expect(await contextOf(conversation)).toEqual(['Hello?', 'Fine.']);
  expect(await leftOf(conversation)).toEqual(['refused', undefined, undefined]);
  const { entries } = await fixture.client.outline(conversation);
  expect(entries[0]).toMatchObject({ state: 'archived', left: 'refused', turn: 't1' });
  const versions = await fixture.client.versions(conversation);
  expect(versions).toMatchObject([{ cause: 'rollback', explained: ['turn_refused'] }]);
});

test('turns behind a turn that the content filter declined are answered without its messages, but with those before it', async () => {
  await using provider = await startFilter(DECLINED);
  await fixture.useWorkers(guide('openai-chat', provider));
  await runTurn('queue', 't1', 'One.');
  await fixture.closeWorkers();
  for (const [turn, input] of [
    ['t2', BAD],
    ['t3', `Again ${BAD}`],
    ['t4', 'Four.'],
    ['t5', 'Five.'],
  ] as const)
    await fixture.enqueue('queue', turn, input);
  await fixture.useWorkers(guide('openai-chat', provider));
  const states = await Promise.all(['t2', 't3', 't4', 't5'].map((turn) => settled(fixture, 'queue', turn)));
  expect(states.map(({ state }) => state)).toEqual(['failed', 'failed', 'completed', 'completed']);
  expect(await contextOf('queue')).toEqual(['One.', 'Fine.', 'Four.', 'Fine.', 'Five.', 'Fine.']);
});

test('messages of canceled turns that no model answered leave the context if the content filter declines the next turn', async () => {
  await using provider = await startFilter(DECLINED);
  await fixture.useWorkers(guide('openai-chat', provider));
  await runTurn('canceled', 't1', 'One.');
  await fixture.closeWorkers();
  const { client } = fixture;
  const target = { conversation: 'canceled', agent: 'guide' } as const;
  await client.enqueueTurn({ ...target, turn: 't2', input: BAD });
  await client.enqueueTurn({ ...target, turn: 't3', input: 'Three.', onBusy: 'interrupt' });
  await fixture.useWorkers(guide('openai-chat', provider));
  expect(await settled(fixture, 'canceled', 't3')).toMatchObject({ state: 'failed' });
  expect(await runTurn('canceled', 't4', 'Four.')).toMatchObject({ state: 'completed' });
  expect(await contextOf('canceled')).toEqual(['One.', 'Fine.', 'Four.', 'Fine.']);
});

test('after a compaction, an unclassified refusal of a new message leaves the summary in place', async () => {
  await using provider = await startFilter(refusal('strange_code', 'Something about your messages is wrong.'));
  await fixture.useWorkers(
    guide('anthropic', provider, { policy: { retentionWindow: 2, tokenThreshold: 100_000, maxTokens: 2_000 } }),
  );
  await fixture.appendSequences('compacted', { tokens: 450 });
  await fixture.client.compact('compacted');
  await fixture.untilCompacted('compacted');
  expect(await runTurn('compacted', 't1', 'And?')).toMatchObject({ state: 'completed' });
  const before = await contextOf('compacted');
  expect(await runTurn('compacted', 't2', BAD)).toMatchObject({ state: 'failed' });
  expect(await runTurn('compacted', 't3', 'Go on.')).toMatchObject({ state: 'completed' });
  expect(await contextOf('compacted')).toEqual([...before, 'Go on.', 'Fine.']);
});

test('a tool result that the provider refuses leaves the context together with its turn', async () => {
  let asks = 0;
  const tool = defineTool({
    name: 'look',
    description: 'Looks.',
    input: z.object({}),
    run: async () => `It says ${BAD}.`,
  });
  await using provider = await startFilter(DECLINED, () => {
    asks += 1;
    return asks === 1 ? { calls: [{ name: 'look', arguments: {} }] } : { text: 'Fine.' };
  });
  await fixture.useWorkers(guide('openai-responses', provider, { tools: [tool] }));
  expect(await runTurn('tool', 't1', 'Look.')).toMatchObject({ state: 'failed' });
  expect(await runTurn('tool', 't2', 'Never mind.')).toMatchObject({ state: 'completed' });
  expect(await contextOf('tool')).toEqual(['Never mind.', 'Fine.']);
});

test('a turn whose answer is stopped by a filter of the provider ends, and its messages leave the context', async () => {
  await using provider = await startProvider({
    answers: (request) => (isBad(request) ? { end: 'refusal' } : { text: 'Fine.' }),
    strict: false,
  });
  for (const format of FORMATS) {
    await fixture.useWorkers(guide(format, provider));
    const conversation = `stopped-${format}`;
    expect(await runTurn(conversation, 't1', BAD)).toMatchObject({ state: 'completed', answer: { end: 'refusal' } });
    expect(await runTurn(conversation, 't2', 'Hello?')).toMatchObject({ answer: { content: 'Fine.' } });
    expect(await contextOf(conversation)).toEqual(['Hello?', 'Fine.']);
  }
});

test('an answer in which the model itself declines stays in the context', async () => {
  await using provider = await startProvider({
    answers: (request) => (isBad(request) ? { text: 'I cannot help with that.', end: 'refusal' } : { text: 'Fine.' }),
    strict: false,
  });
  for (const format of ['openai-chat', 'openai-responses'] as const) {
    await fixture.useWorkers(guide(format, provider));
    expect(await runTurn(`said-${format}`, 't1', BAD)).toMatchObject({ answer: { end: 'refusal' } });
    expect(await contextOf(`said-${format}`)).toEqual([BAD, 'I cannot help with that.']);
  }
});

test('a message that alone exceeds the window leaves the context, even if compaction is off', async () => {
  await using provider = await startProvider({ answers: () => ({ text: 'Fine.' }), strict: false });
  const model = connect('openai-chat', provider, { profile: { ...PROFILE, windowTokens: 8_000 } });
  for (const enabled of [true, false]) {
    await fixture.useWorkers(guide('openai-chat', provider, { model, policy: { enabled } }));
    const conversation = `large-${enabled}`;
    await runTurn(conversation, 't1', 'One.');
    expect(await runTurn(conversation, 't2', words(20_000))).toMatchObject({ state: 'failed' });
    expect(await runTurn(conversation, 't3', 'Three.')).toMatchObject({ state: 'completed' });
    expect(await leftOf(conversation)).toEqual([undefined, undefined, 'too_large', undefined, undefined]);
  }
});

test.each([
  ['the key', refusal('invalid_api_key', 'Wrong key.', 401)],
  ['the credit', refusal('insufficient_quota', 'No credit.', 429)],
  ['a setting', refusal('unsupported_parameter', 'No such parameter.')],
])('a turn that the provider refuses because of %s keeps its messages in the context', async (what, answer) => {
  await using provider = await startFilter(answer);
  await fixture.useWorkers(guide('openai-chat', provider));
  const conversation = `kept-${what.replace(' ', '-')}`;
  await runTurn(conversation, 't1', 'One.');
  expect(await runTurn(conversation, 't2', BAD)).toMatchObject({ state: 'failed' });
  expect(await contextOf(conversation)).toEqual(['One.', 'Fine.', BAD]);
  expect(await leftOf(conversation)).toEqual([undefined, undefined, undefined]);
});

test('a turn that the content filter declined runs again with the same input when it is redriven', async () => {
  let isLenient = false;
  await using provider = await startProvider({
    answers: (request) => (isBad(request) && !isLenient ? { fault: 'raw', answer: DECLINED } : { text: 'Fine.' }),
    strict: false,
  });
  await fixture.useWorkers(guide('openai-chat', provider));
  await runTurn('redriven', 't1', BAD);
  isLenient = true;
  const { turn } = await fixture.client.redrive('redriven', 't1');
  expect(await settled(fixture, 'redriven', turn)).toMatchObject({ state: 'completed', redriveOf: 't1' });
  expect(await contextOf('redriven')).toEqual([BAD, 'Fine.']);
});
