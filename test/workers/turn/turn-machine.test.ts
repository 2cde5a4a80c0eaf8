import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { NO_WEIGHT } from '../../../src/domain/message.ts';
import type { ModelErrorKind } from '../../../src/domain/model.ts';
import { EMPTY_ANSWER } from '../../../src/domain/model-answer.ts';
import type { StepRecord } from '../../../src/domain/turn.ts';
import { scriptedModel } from '../../../src/providers/scripted.ts';
import type { StepOutcome } from '../../../src/store/turn-steps.ts';
import type { SentContext } from '../../../src/workers/turn/context-cache.ts';
import {
  applyWaitEvent,
  mayWaitForPass,
  readStepWaits,
  type WaitEvent,
} from '../../../src/workers/turn/step-decision.ts';
import { CLAIMED, endWithin, nextTurnState } from '../../../src/workers/turn/turn-machine.ts';
import {
  type ActiveRunStateName,
  type Answered,
  failTurn,
  type RunFacts,
  type RunState,
  type TurnRules,
} from '../../../src/workers/turn/turn-states.ts';

const MAX_STEPS = 6;
const RULES: TurnRules = {
  agent: { name: 'guide', system: '', model: scriptedModel({ steps: [] }), tools: [], policy: {}, maxSteps: MAX_STEPS },
  isCompacting: true,
  maxTurnTokens: 1_000_000,
  providerWaitMs: 60_000,
};
const SENT: SentContext = { version: 1, isCompacted: true, head: 1, messages: [] };
const ANSWER = { content: 'done', toolCalls: [] };
const OUTCOME: StepOutcome = { key: 'model-1', messages: [], opens: [], closes: [] };
const ANSWERED: Answered = { key: 'model-1', seq: 2, message: { role: 'assistant', content: 'done' } };
const FAILED = failTurn('budget_infeasible', 'too large');

/** The facts that the store keeps between two actions: the waits of a step, and the size of its context. */
class Journal {
  readonly marks = new Map<string, StepRecord>();
  readonly asked: string[] = [];
  steps = 0;
  models = 0;
  /** Versions below the live one. Each rollback goes one down. */
  versions = 3;
  isTooLarge = false;
  mustCompact = false;
  readonly isCompacting: boolean;

  constructor(isCompacting: boolean) {
    this.isCompacting = isCompacting;
  }

  get key(): string {
    return `model-${this.models + 1}`;
  }

  note(key: string, event: WaitEvent): void {
    this.marks.set(applyWaitEvent(readStepWaits(this.marks, key), event).mark, { status: 'started', at: 1 });
  }
}

type Choose = (ways: number) => number;

/** RunFacts as an action could return them: any choice of the world outside, but the journal as it was written. */
const ACTIONS: {
  readonly [Name in ActiveRunStateName]: (log: Journal, state: RunState<Name>, choose: Choose) => RunFacts[Name];
} = {
  claimed: (_, __, choose) => ({ limit: choose(8) === 0 ? { leftMs: 0, failed: FAILED } : undefined }),
  brief: (_, __, choose) => (choose(8) === 0 ? { status: 'failed', failed: FAILED } : { status: 'briefed' }),
  catch_up: (_, __, choose) => ({ last: choose(2) === 0 ? ANSWERED : undefined }),
  check: (log, _, choose) => {
    if (choose(30) === 0) return { status: 'stopping' };
    const { key, models, steps, isTooLarge, mustCompact } = log;
    const waits = readStepWaits(log.marks, key);
    const size = { tokens: 1_000, bytes: 0 };
    const facts = { status: 'checked', key, number: models + 1, steps, spentTokens: 0, waits } as const;
    if (mustCompact && mayWaitForPass(waits, 'threshold')) {
      return { ...facts, decision: { kind: 'wait', size, reasons: ['hard_limit'] } };
    }
    return { ...facts, decision: isTooLarge ? { kind: 'refuse', size } : { kind: 'send', size, reasons: [] } };
  },
  ask: (log, { key }, choose) => {
    log.asked.push(key);
    const kind = (['answered', 'overflow', 'retry', 'invalid', 'fatal'] as const)[choose(5)];
    if (kind === 'answered' || kind === undefined) return { status: 'answered', answer: ANSWER, sent: SENT };
    const failure = { kind, message: 'no', mayBeTooLong: choose(2) === 0, refusesContents: choose(2) === 0 };
    const waits = readStepWaits(log.marks, key);
    return {
      status: 'failed',
      failure,
      version: 1,
      isUnanswered: choose(2) === 0,
      waits,
      retryAfterMs: 0,
      random: 0,
    };
  },
  record: (log, _, choose) => {
    log.models += 1;
    log.steps += 1;
    log.isTooLarge = choose(4) === 0;
    // Without compaction, no threshold is met.
    log.mustCompact = log.isCompacting && (log.isTooLarge || choose(4) === 0);
    const status = (['unusable', 'final', 'recorded', 'to_correct'] as const)[choose(4)] ?? 'recorded';
    if (status === 'unusable') return { status, why: 'no' };
    return status === 'final' ? { status, answered: ANSWERED, outcome: OUTCOME } : { status, answered: ANSWERED };
  },
  tools: (log, _, choose) => {
    log.steps += choose(3);
    if (choose(6) === 0) return { status: 'ended', end: FAILED };
    return { status: 'closed' };
  },
  request_pass: () => ({ passId: 'p' }),
  compact: (log, { key, isLastResort }, choose) => {
    if (!isLastResort) log.note(key, 'pass_settled');
    log.isTooLarge = choose(2) === 0;
    return { doesFit: !log.isTooLarge, waits: readStepWaits(log.marks, key), random: 0 };
  },
  recount: (log, { refusal }, choose) => {
    if (refusal === undefined && choose(3) === 0) {
      log.isTooLarge = false;
      return { status: 'fits' };
    }
    const details = { fixed: 1, pinned: 0, open: 0, floor: 0, max: 1 } as never;
    const recount =
      choose(2) === 0 ? ({ status: 'fits' } as const) : ({ status: 'too_large', details, rules: [] } as const);
    return { status: 'counted', recount };
  },
  note_refusal: (log, { key }) => {
    log.note(key, 'size_refused');
    return { need: { reasons: ['overflow'] }, waits: readStepWaits(log.marks, key) };
  },
  roll_back: (log, { key }, choose) => {
    if (log.versions === 0) return { maySend: false };
    log.versions -= 1;
    if (readStepWaits(log.marks, key).overflow === 'used') log.note(key, 'rolled_back');
    return { maySend: choose(4) > 0 };
  },
  find_leaving: (_, __, choose) => ({ leaves: choose(2) === 0 ? { from: 1, why: 'refused' } : undefined }),
  give_up: () => ({ failed: FAILED, leaves: undefined }),
};

function act<Name extends ActiveRunStateName>(log: Journal, state: RunState<Name>, choose: Choose): RunFacts[Name] {
  return ACTIONS[state.name](log, state, choose);
}

/** Runs a turn. The numbers choose how each action ends, and `unsettled` passes have ended without deciding on the size. */
function run(choices: readonly number[], unsettled: number, rules = RULES) {
  const log = new Journal(rules.isCompacting);
  for (let pass = 0; pass < unsettled; pass += 1) log.note(log.key, 'pass_unsettled');
  log.mustCompact = rules.isCompacting && choices[0] === 1;
  let at = 0;
  const choose: Choose = (ways) => {
    at += 1;
    return (choices[at % choices.length] ?? 0) % ways;
  };
  const path: RunState['name'][] = [];
  let state: RunState = CLAIMED;
  while (state.name !== 'end' && path.length < 1_000) {
    path.push(state.name);
    state = nextTurnState(state, act(log, state, choose), rules);
  }
  return { log, path, state };
}

const turn = fc.record({
  choices: fc.array(fc.nat(59), { minLength: 1, maxLength: 60 }),
  unsettled: fc.nat(4),
  isCompacting: fc.boolean(),
});

it('the state machine of a turn ends after a bounded number of model calls for each step', () => {
  fc.assert(
    fc.property(turn, ({ choices, unsettled, isCompacting }) => {
      const { log, path, state } = run(choices, unsettled, { ...RULES, isCompacting });
      expect(state.name).toBe('end');
      for (const calls of Map.groupBy(log.asked, (key) => key).values()) {
        // The first call, one after the wait for each cause, and one for each older version.
        expect(calls.length).toBeLessThanOrEqual(1 + 3 + 3);
      }
      expect(log.asked.length).toBeLessThanOrEqual((1 + 3 + 3) * MAX_STEPS);
      if (!isCompacting) expect(path.filter((name) => name === 'request_pass' || name === 'recount')).toEqual([]);
    }),
    { numRuns: 2_000 },
  );
});

it('the state machine of a turn starts with claimed, and random runs reach every state', () => {
  const seen = new Set<string>();
  for (const { choices, unsettled } of fc.sample(turn, { numRuns: 3_000, seed: 1 })) {
    const { path } = run(choices, unsettled);
    expect(path[0]).toBe('claimed');
    for (const name of path) seen.add(name);
  }
  expect([...seen].toSorted()).toEqual(Object.keys(ACTIONS).toSorted());
});

it('the state machine of a turn calls no model if the time of the turn is over or its system prompt could not be written', () => {
  expect(nextTurnState(CLAIMED, { limit: { leftMs: 0, failed: FAILED } }, RULES)).toEqual({ name: 'end', end: FAILED });
  const failed = nextTurnState({ name: 'brief' }, { status: 'failed', failed: FAILED }, RULES);
  expect(failed).toEqual({ name: 'end', end: FAILED });
});

const checked = {
  status: 'checked',
  key: 'model-1',
  number: 1,
  steps: 0,
  spentTokens: 0,
  waits: readStepWaits(new Map(), 'model-1'),
  decision: { kind: 'send', size: { ...NO_WEIGHT, tokens: 10 }, reasons: [] },
} as const satisfies RunFacts['check'];
const wait = { kind: 'wait', size: NO_WEIGHT, reasons: ['hard_limit'] } as const;
const refuse = { kind: 'refuse', size: NO_WEIGHT } as const;

it.each<[string, Partial<Extract<RunFacts['check'], { status: 'checked' }>>, Partial<TurnRules>, object]>([
  ['asks the model if the context fits', {}, {}, { name: 'ask', key: 'model-1', tokens: 10 }],
  ['requests a pass if the step may wait', { decision: wait }, {}, { name: 'request_pass' }],
  [
    'compacts within the turn after three passes that settled nothing',
    { decision: wait, waits: { ...checked.waits, unsettledPasses: 3 } },
    {},
    { name: 'compact', isLastResort: false },
  ],
  ['counts again before it fails as too large', { decision: refuse }, {}, { name: 'recount' }],
  ['fails as too large without compaction', { decision: refuse }, { isCompacting: false }, { name: 'give_up' }],
  ['fails at the limit of steps', { steps: MAX_STEPS }, {}, { end: { failure: { code: 'step_limit' } } }],
  [
    'fails at the limit of tokens',
    { spentTokens: 95 },
    { maxTurnTokens: 100 },
    { end: { failure: { code: 'token_limit' } } },
  ],
])('a turn at its threshold check %s', (_, facts, rules, next) => {
  expect(nextTurnState({ name: 'check' }, { ...checked, ...facts }, { ...RULES, ...rules })).toMatchObject(next);
});

const ASK: RunState<'ask'> = { name: 'ask', key: 'model-1', number: 1, tokens: 10, soft: { reasons: [] } };

function afterFailure(kind: ModelErrorKind, more: object = {}, call: object = {}): RunState {
  const failure = { kind, message: 'no', ...more };
  const facts = { status: 'failed', failure, version: 4, isUnanswered: true, retryAfterMs: 0, random: 1 } as const;
  return nextTurnState(ASK, { ...facts, waits: checked.waits, ...call }, RULES);
}

const usedUp = { waits: { ...checked.waits, overflow: 'used' } };

it.each<[string, RunState, object]>([
  ['an overflow waits for a pass', afterFailure('overflow'), { name: 'note_refusal', tokens: 10 }],
  [
    'a second overflow counts again',
    afterFailure('overflow', {}, usedUp),
    { name: 'recount', refusal: { kind: 'overflow' } },
  ],
  [
    'an outage suspends the turn',
    afterFailure('retry'),
    { end: { kind: 'suspended', wait: { for: 'retry', waitMs: 1_000 } } },
  ],
  ['a refused form rolls the version back', afterFailure('invalid'), { name: 'roll_back', version: 4 }],
  [
    'a refusal that may be about size makes room',
    afterFailure('invalid', { mayBeTooLong: true }),
    { name: 'note_refusal' },
  ],
  [
    'such a refusal after a pass fails the turn',
    afterFailure('invalid', { mayBeTooLong: true }, usedUp),
    { name: 'end' },
  ],
  ['a fatal error fails the turn', afterFailure('fatal'), { end: { failure: { code: 'model_failed' } } }],
  [
    'refused contents leave the context',
    afterFailure('fatal', { refusesContents: true }),
    { name: 'find_leaving', which: 'unanswered' },
  ],
  [
    'a third empty answer fails the turn',
    afterFailure('retry', { code: EMPTY_ANSWER }, { waits: { ...checked.waits, retries: 2 } }),
    { end: { kind: 'failed' } },
  ],
])('after a failed model call of a turn, %s', (_, next, expected) => {
  expect(next).toMatchObject(expected);
});

it('the time limit of a turn drops an outcome that came too late, and shortens a wait', () => {
  const limit = { leftMs: 500, failed: FAILED, isOver: false };
  const completed = { kind: 'completed', answerSeq: 2, step: OUTCOME } as const;
  expect(endWithin(completed, limit)).toBe(completed);
  expect(endWithin(completed, { ...limit, isOver: true })).toBe(FAILED);
  const suspended = { kind: 'suspended', wait: { for: 'retry', step: 'model-1', waitMs: 900, calls: [] } } as const;
  expect(endWithin(suspended, limit)).toMatchObject({ wait: { waitMs: 500 } });
  expect(endWithin(suspended, { ...limit, leftMs: -1, isOver: true })).toMatchObject({ wait: { waitMs: 0 } });
});
