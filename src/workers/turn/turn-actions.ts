import { TurnTimeout } from './ending.ts';
import {
  compactHere,
  countAgain,
  explainTooLarge,
  leaveIfNew,
  leaveUnanswered,
  noteRefusal,
  requestUnderLease,
} from './make-room.ts';
import { recordAnswer } from './model-answer.ts';
import { askModel } from './model-request.ts';
import { rollBackRefused } from './refused-version.ts';
import { mustHandBack, type RunningTurn } from './running-turn.ts';
import { mayWaitForPass } from './step-waits.ts';
import { decideStep } from './threshold-check.ts';
import { runTools } from './tool-round.ts';
import { countModelSteps, countSteps, modelKey } from './turn-journal.ts';
import { CLAIMED, endWithin, nextStep } from './turn-machine.ts';
import { briefTurn, resumeTurn, startLimit } from './turn-start.ts';
import type { Facts, TurnEnd, TurnState, WorkStep } from './turn-states.ts';

/**
 * Runs the state machine of a claimed turn until the turn must be settled, suspended or handed back.
 * @throws LostTurn if the turn's lease was lost. StoppedWork if the worker stops.
 */
export async function runTurn(run: RunningTurn): Promise<TurnEnd> {
  const { ending, ports, prepared, claimed, settings } = run;
  const rules = {
    agent: prepared.agent,
    isCompacting: prepared.policy.enabled,
    maxTurnTokens: claimed.caps.maxTurnTokens ?? Number.POSITIVE_INFINITY,
    providerWaitMs: settings.providerWaitMs,
  };
  let state: TurnState = CLAIMED;
  try {
    while (state.step !== 'end') state = nextStep(state, await act(run, state), rules);
  } catch (error) {
    if (!(error instanceof TurnTimeout) || run.limit === undefined) throw error;
    return run.limit.failed;
  } finally {
    ending.unlimit();
  }
  if (run.limit === undefined) return state.end;
  const { failed, until } = run.limit;
  const isOver = ending.signal.reason instanceof TurnTimeout;
  return endWithin(state.end, { failed, leftMs: until - ports.clock.now(), isOver });
}

/** Runs the action of a state. Returns the facts from which `nextStep` decides the next state. */
function act<Step extends WorkStep>(run: RunningTurn, state: TurnState<Step>): Promise<Facts[Step]> {
  return ACTIONS[state.step](run, state);
}

const ACTIONS: {
  readonly [Step in WorkStep]: (run: RunningTurn, state: TurnState<Step>) => Promise<Facts[Step]>;
} = {
  claimed: startLimit,
  brief: briefTurn,
  resume: resumeTurn,
  check: checkStep,
  ask: askModel,
  record: recordAnswer,
  tools: runTools,
  request_pass: async (run, { need }) => ({ passId: await requestUnderLease(run, need) }),
  compact: compactHere,
  recount: countAgain,
  note_refusal: noteRefusal,
  roll_back: rollBack,
  find_leaving: async (run, { which }) => ({
    leaves: await (which === 'unanswered' ? leaveUnanswered(run) : leaveIfNew(run)),
  }),
  give_up: explainTooLarge,
};

async function checkStep(run: RunningTurn): Promise<Facts['check']> {
  const { journal, prepared } = run;
  if (mustHandBack(run)) return { status: 'stopping' };
  await journal.takeSteering();
  const number = countModelSteps(journal.steps) + 1;
  const key = modelKey(number);
  const waits = journal.waitsOf(key);
  const decision = decideStep(prepared, journal.conversation, mayWaitForPass(waits, 'threshold'));
  const { steps, spentTokens } = journal;
  return { status: 'checked', key, number, steps: countSteps(steps), spentTokens, decision, waits };
}

/**
 * Replaces a version whose form the provider refused by its parent. If the older version is too large, and the step is
 * not allowed to wait again, the turn fails with the provider's refusal.
 */
async function rollBack(
  run: RunningTurn,
  { key, version, failure }: TurnState<'roll_back'>,
): Promise<Facts['roll_back']> {
  if (!(await rollBackRefused(run, { step: key, version }, failure))) return { mayAsk: false };
  const { journal, prepared } = run;
  const mayWait = mayWaitForPass(journal.waitsOf(key), 'threshold');
  return { mayAsk: decideStep(prepared, journal.conversation, mayWait).kind !== 'refuse' };
}
