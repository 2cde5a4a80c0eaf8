import { describe, expect, it, test } from 'vitest';
import { z } from 'zod';
import type { WorkerEvent } from '../../src/domain/events.ts';
import { modelChain, ROLES, startWorkers } from '../../src/index.ts';
import { agentOf } from './agents.ts';

/** A closed port: options must be refused before anything is opened. */
const NOWHERE = 'redis://127.0.0.1:1';

/** As JavaScript has it, where no type keeps it out. */
function start(options: object): Promise<unknown> {
  return startWorkers({ redisUrl: NOWHERE, agents: [agentOf()], ...options });
}

function startAgent(changes: object): Promise<unknown> {
  return start({ agents: [{ ...agentOf(), ...changes }] });
}

const NOT_NUMBERS = [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '4', null];
const tool = { name: 'look', description: '', input: z.object({}) };
const { model } = agentOf();

describe('the error of startWorkers names invalid options', () => {
  test.each<[string, object]>([
    ['redisUrl', { redisUrl: 'http://s3cret' }],
    ['redisUrl', { redisUrl: undefined }],
    ['redisTls', { redisTls: 5 }],
    ['redisTls.ca', { redisTls: { ca: 5 } }],
    ['roles', { roles: [] }],
    ['roles', { roles: 'turn' }],
    ['roles[1]', { roles: ['turn', 'foo'] }],
    ['agents', { agents: [] }],
    ['agents', { agents: agentOf() }],
    ['agents[0]', { agents: [null] }],
    ['agentsModule', { agentsModule: 5 }],
    ['agentsModule', { agentsModule: '' }],
    ['agentsModule', { agentsModule: './no-such-file.js' }],
    ['agentsModule', { agentsModule: 'file:///no-such-file.js' }],
    ['agentsModule', { agentsModule: new URL('https://example.com/agents.js') }],
    ['concurrency', { concurrency: 5 }],
    ['concurrency.cook', { concurrency: { cook: 5 } }],
    ['metrics.host', { metrics: { port: 0 } }],
    ['metrics.port', { metrics: { host: '127.0.0.1', port: 65_536 } }],
    ['summarizers[0].generate', { summarizers: [{ profile: model.profile }] }],
    ['summarizers[0].gate.concurrent', { summarizers: [{ ...model, gate: { concurrent: 1.5 } }] }],
    ['signal', { signal: 5 }],
    ['onEvent', { onEvent: 5 }],
    ['onContent', { onContent: 5 }],
    ['secrets[0]', { secrets: [5] }],
    ['tracesContent', { tracesContent: 'yes' }],
    ['concurency', { concurency: { turn: 5 } }],
    ...['shards', 'queueShards', 'shutdownMs', 'stuckMs'].flatMap((field) =>
      NOT_NUMBERS.map((value): [string, object] => [field, { [field]: value }]),
    ),
    ...ROLES.flatMap((role) =>
      NOT_NUMBERS.map((value): [string, object] => [`concurrency.${role}`, { concurrency: { [role]: value } }]),
    ),
  ])('startWorkers refuses the invalid option %s: %j', async (field, options) => {
    const refused = start(options);
    await expect(refused).rejects.toMatchObject({ name: 'TurnfoldError', code: 'invalid_config', field });
    await expect(refused).rejects.not.toThrow('s3cret');
  });

  test.each<[string, object]>([
    ['model', { model: null }],
    ['model.generate', { model: { profile: model.profile } }],
    ['model.profile.encoding', { model: { ...model, profile: { ...model.profile, encoding: 'foo' } } }],
    ['model.profile.windowTokens', { model: { ...model, profile: { ...model.profile, windowTokens: Number.NaN } } }],
    ['model.gate.requestsPerMinute', { model: { ...model, gate: { requestsPerMinute: 'x' } } }],
    ['model.gate.concurrent', { model: { ...model, gate: { concurrent: 0 } } }],
    ['model.gate.perSecond', { model: { ...model, gate: { perSecond: 5 } } }],
    ['model.gate.name', { model: { ...model, gate: { name: '' } } }],
    [
      'model.fallbacks[1].gate.tokensPerMinute',
      { model: modelChain([model, { ...model, gate: { tokensPerMinute: -1 } }]) },
    ],
    ['system', { system: 5 }],
    ['tools', { tools: {} }],
    ['tools[0].input', { tools: [{ ...tool, input: {} }] }],
    ['tools[0].input', { tools: [{ ...tool, input: z.object({ at: z.date() }) }] }],
    ['tools[0].run', { tools: [{ ...tool, run: 5 }] }],
    ['tools[0].retry', { tools: [{ ...tool, retry: 'often' }] }],
    ['tools[0].answerWithinMs', { tools: [{ ...tool, needsApproval: true, answerWithinMs: 0 }] }],
    ['tools[0].answerWithinMs', { tools: [{ ...tool, needsApproval: true, answerWithinMs: '7d' }] }],
    ['tools[0].answerWithinMs', { tools: [{ ...tool, run: async () => '', answerWithinMs: 1_000 }] }],
    ['tools[0].needsApproval', { tools: [{ ...tool, needsApproval: 'yes' }] }],
    ['recall', { recall: 'yes' }],
    ['turnTimeoutMs', { turnTimeoutMs: '5' }],
    ['policy', { policy: undefined }],
    ...['maxSteps', 'toolResultMaxTokens'].flatMap((field) =>
      NOT_NUMBERS.map((value): [string, object] => [field, { [field]: value }]),
    ),
  ])('the error of startWorkers names the invalid field agents.guide.%s of %j', async (field, changes) => {
    const error = { name: 'TurnfoldError', code: 'invalid_config', field: `agents.guide.${field}` };
    await expect(startAgent(changes)).rejects.toMatchObject(error);
  });

  it('startWorkers refuses missing options', async () => {
    await expect(startWorkers(undefined as never)).rejects.toMatchObject({ code: 'invalid_config' });
  });

  it('startWorkers refuses two agents with one name', async () => {
    await expect(start({ agents: [agentOf(), agentOf()] })).rejects.toMatchObject({ field: 'agents.guide' });
  });
});

describe('every policy is validated by one schema, from any source', () => {
  const wrong: readonly [string, unknown][] = [
    ['thresholdRatio', { thresholdRatio: 7 }],
    ['retention_window', { retention_window: -3 }],
    ['strategy', { strategy: 'foo' }],
    ['typo', { typo: 1 }],
    ['conversationTtl', { conversationTtl: 'soon' }],
    ['summarizer', { summarizer: 'nobody' }],
    ['compact.maxTokens', { compact: { maxTokens: 'many' } }],
    ['max_tokens', { maxTokens: 5, max_tokens: 5 }],
  ];
  const places: readonly [string, (policy: unknown) => Promise<unknown>][] = [
    ['policy', (policy) => start({ policy })],
    ['shadow', (shadow) => start({ shadow })],
    ['agents.guide.policy', (policy) => startAgent({ policy })],
  ];
  test.each(
    places.flatMap(([place, read]) => wrong.map(([key, policy]) => [`${place}.${key}`, policy, read] as const)),
  )('the error of startWorkers names the invalid setting %s of %j', async (field, policy, read) => {
    await expect(read(policy)).rejects.toMatchObject({ name: 'TurnfoldError', code: 'invalid_policy', field });
  });

  test.each(places)('startWorkers refuses a text as the policy of %s', async (field, read) => {
    await expect(read('foo')).rejects.toMatchObject({ name: 'TurnfoldError', field });
  });

  it.each(places)('startWorkers reads snake_case settings in %s', async (_, read) => {
    await expect(read({ max_tokens: 1_000, token_threshold: 10 })).rejects.toMatchObject({
      code: 'invalid_policy',
      field: expect.stringMatching(/(^|\.)tokenThreshold$/),
    });
  });

  it('startWorkers reports each model that its provider retires soon', async () => {
    const events: WorkerEvent[] = [];
    const ending = new AbortController();
    const onEvent = (event: WorkerEvent): void => {
      events.push(event);
      ending.abort(new Error('enough'));
    };
    const agent = agentOf();
    const retiring = { ...agent.model, profile: { ...agent.model.profile, id: 'old', retiresOn: '2020-01-31' } };
    const agents = [{ ...agent, model: retiring }];
    await expect(start({ agents, onEvent, signal: ending.signal })).rejects.toThrow('enough');
    expect(events[0]).toMatchObject({ type: 'model_retires', model: 'old', retiresOn: '2020-01-31' });
  });

  it('startWorkers warns about retired keys of each policy', async () => {
    const events: WorkerEvent[] = [];
    const ending = new AbortController();
    const onEvent = (event: WorkerEvent): void => {
      events.push(event);
      if (events.filter(({ type }) => type === 'policy_warned').length === 3) ending.abort(new Error('enough'));
    };
    const retired = { transforms: [] };
    const agents = [{ ...agentOf(), policy: retired }];
    await expect(start({ agents, policy: retired, shadow: retired, onEvent, signal: ending.signal })).rejects.toThrow(
      'enough',
    );
    const warnings = events.flatMap((event) => (event.type === 'policy_warned' ? [event.message] : []));
    expect(warnings.map((message) => message.split(' is retired')[0])).toEqual([
      'policy: `transforms`',
      'shadow: `transforms`',
      'agents.guide.policy: `transforms`',
    ]);
  });
});
