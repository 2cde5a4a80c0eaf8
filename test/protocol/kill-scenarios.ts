import type { ClientPorts } from '../../src/api/client/ports.ts';
import { isTurnfoldError } from '../../src/domain/errors.ts';
import { ModelError, type ModelRequest } from '../../src/domain/model.ts';
import type { PolicyInput } from '../../src/domain/policy.ts';
import type { Summarizer } from '../../src/domain/summarizer.ts';
import type { WaitKind } from '../../src/domain/turn.ts';
import { type ScriptedOutcome, scriptedModel } from '../../src/providers/scripted.ts';
import { readConversation, type StoredPass } from '../store/stored-conversation.ts';
import {
  answer,
  approve,
  attempt,
  type Client,
  cancel,
  compact,
  enqueue,
  fork,
  restoreAll,
  talk,
  words,
} from './clients.ts';
import type { WorldClock } from './clock.ts';
import type { KillScenario, Until } from './kill-run.ts';
import { brief, halfDown, LONG, SMALL, summarizing, TOOLS } from './surroundings.ts';
import { ref, type World } from './world.ts';

const MODEL_MS = 2_500;

/** The answer depends on the request alone, so that a repeated step gets the same answer. */
function answerIn({ messages, idempotencyKey, tokens }: ModelRequest, calls: readonly string[] = []): ScriptedOutcome {
  const usage = { inputTotal: tokens, output: 5, outputKept: 5 };
  const isFirst = idempotencyKey.endsWith('/model-1') && idempotencyKey.includes('/t1/');
  if (!isFirst || calls.length === 0) return { content: `said after ${messages.at(-1)?.role}`, usage };
  return { content: 'Let me see.', toolCalls: calls.map((name) => ({ name, arguments: {} })), usage };
}

/** The first turn calls these tools. */
function calling(...calls: readonly string[]) {
  return () => ({ model: scriptedModel({ decide: (request) => answerIn(request, calls) }), tools: TOOLS });
}

const ASK_OWN = { name: 'ask', parameters: { type: 'object', properties: {} } };
const BROUGHT = { tools: [ASK_OWN], instructions: 'Be brief.' };

/** The first turn must have what it brings in each of its requests, before and behind a pass, and t2 nothing of it. */
function bringing() {
  const decide = (request: ModelRequest): ScriptedOutcome => {
    const { tools, system, messages, idempotencyKey } = request;
    const isFirst = idempotencyKey.includes('/t1/');
    const isBrought = tools.some(({ name }) => name === ASK_OWN.name) && system.endsWith(BROUGHT.instructions);
    if (isBrought !== isFirst) return new Error(`the request has ${tools.length} tools and the prompt "${system}"`);
    return answerIn(request, messages.at(-1)?.role === 'user' ? [ASK_OWN.name] : []);
  };
  const policy = { tokenThreshold: 1_800, maxTokens: 1_000, retentionWindow: 2 };
  return { model: scriptedModel({ profile: SMALL, decide }), policy, summarizers: [brief] };
}

const compacting = (summarizer: Summarizer, policy?: PolicyInput) => summarizing(summarizer, policy, answerIn);

/** The provider limits its rate for the first five seconds. */
function limited(clock: WorldClock) {
  const retryAt = clock.now() + 5_000;
  const decide = (request: ModelRequest): ScriptedOutcome =>
    clock.now() < retryAt ? new ModelError('retry', 'slow down', { retryAt }) : answerIn(request);
  return { model: scriptedModel({ decide }) };
}

function inTurn(...steps: readonly Client[]): Client {
  return async (ports) => {
    for (const step of steps) await step(ports);
  };
}

/** Waits for the condition, then calls the client. */
function once(isTrue: (world: World) => boolean, ...steps: readonly Client[]) {
  return async (ports: ClientPorts, until: Until): Promise<void> => {
    await until(isTrue);
    await inTurn(...steps)(ports);
  };
}

/** True once the first turn waits for this, or is settled because of a fault. */
function waitsFor(kind: WaitKind): (world: World) => boolean {
  return ({ db }) => {
    const turn = readConversation(db, ref)?.turnRecords.get('t1');
    return turn?.state === 'waiting' ? turn.waiting?.for === kind : turn?.settledAt !== undefined;
  };
}

/** True once the pass is in this state, or has ended because of a fault. */
function passIs(isTrue: (pass: StoredPass) => boolean): (world: World) => boolean {
  return ({ db }) => {
    const { pass, state, events = [] } = readConversation(db, ref) ?? {};
    const isOver = (state?.size.version ?? 0) > 0 || events.some(({ type }) => type === 'pass_ended');
    return isOver || (pass !== undefined && isTrue(pass));
  };
}

const two = inTurn(enqueue('t1'), enqueue('t2'));
const isReviewed = passIs(({ isProposed }) => isProposed);
const pass = compact('token_threshold');

const approveStale: Client = async (ports) => {
  try {
    await approve('long-gone')(ports);
  } catch (error) {
    if (isTurnfoldError(error, 'proposal_stale')) return;
    throw error;
  }
  throw new Error('a stale proposal was approved');
};

export const KILL_SCENARIOS: readonly KillScenario[] = [
  { name: 'two plain turns', options: { surround: calling(), modelMs: MODEL_MS }, clients: [two] },
  {
    name: 'a turn with parallel tools, one of which a service answers',
    options: { surround: calling('read', 'ask', 'list'), modelMs: MODEL_MS },
    clients: [two, once(waitsFor('tools'), attempt(answer('t1', { c2_1: { content: 'blue' } })))],
  },
  {
    name: 'a turn with an approval',
    options: { surround: calling('remove') },
    clients: [two, once(waitsFor('approval'), attempt(answer('t1', { c2_0: { approved: true } })))],
  },
  {
    name: 'a turn that waits for a hard pass',
    options: {
      surround: () => ({
        model: scriptedModel({ profile: SMALL, decide: answerIn }),
        policy: { tokenThreshold: 1_800, maxTokens: 1_000, retentionWindow: 2 },
        summarizers: [brief],
      }),
    },
    before: talk('u20 a300 a300 u20 a300 a300 u20 a300'),
    clients: [inTurn(enqueue('t1', { input: words(350) }), enqueue('t2'))],
  },
  {
    name: 'a turn that brings a tool and instructions, and waits for a hard pass and its caller',
    options: { surround: bringing },
    before: talk('u20 a300 a300 u20 a300 a300 u20 a300'),
    clients: [
      inTurn(enqueue('t1', { input: words(350), ...BROUGHT }), enqueue('t2')),
      once(waitsFor('tools'), attempt(answer('t1', { c10_0: { content: 'blue' } }))),
    ],
  },
  {
    name: 'a soft pass with two sequences',
    options: { surround: compacting(brief) },
    before: talk(LONG),
    clients: [pass],
  },
  {
    name: 'a soft pass with a summary that fails',
    options: { surround: compacting(halfDown) },
    before: talk(LONG),
    clients: [pass],
  },
  {
    name: 'a turn that starts a soft pass',
    options: { surround: compacting(brief), modelMs: MODEL_MS },
    before: talk(LONG),
    isRacing: true,
    clients: [enqueue('t1')],
  },
  {
    name: 'a cancel while the turn waits for a tool',
    options: { surround: calling('read', 'ask') },
    clients: [two, once(waitsFor('tools'), cancel('t1'))],
  },
  {
    name: 'a cancel while the model works on the turn',
    options: { surround: calling(), modelMs: MODEL_MS },
    clients: [
      two,
      once(({ db }) => readConversation(db, ref)?.turnRecords.get('t1')?.inputSeq !== undefined, cancel('t1')),
    ],
  },
  {
    name: 'a turn with a lost wake',
    options: { surround: calling(), modelMs: MODEL_MS },
    lostWakes: 1,
    clients: [two],
  },
  {
    name: 'an approved proposal',
    options: { surround: compacting(brief, { mode: 'review' }) },
    before: talk(LONG),
    clients: [pass, once(isReviewed, approve())],
  },
  {
    name: 'a proposal that a restore makes stale',
    options: { surround: compacting(brief, { mode: 'review' }) },
    before: talk(LONG),
    clients: [pass, once(isReviewed, restoreAll, approveStale)],
  },
  {
    name: 'a fork during a pass of the original',
    options: { surround: compacting(brief) },
    before: talk(LONG),
    isRacing: true,
    clients: [pass, fork('copy')],
  },
  {
    name: 'a restore during a pass',
    options: { surround: compacting(brief) },
    before: talk(LONG),
    isRacing: true,
    clients: [
      pass,
      once(
        passIs(({ parkedUntil }) => parkedUntil !== undefined),
        restoreAll,
      ),
    ],
  },
  {
    name: 'a delayed turn',
    options: { surround: calling(), modelMs: MODEL_MS },
    clients: [inTurn(enqueue('t1'), enqueue('t2', { delayMs: 60_000 }))],
  },
  { name: 'a turn with a rate limit', options: { surround: limited }, clients: [two] },
];
