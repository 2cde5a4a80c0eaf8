import { nameConversation } from '../../domain/ids.ts';
import { isLost } from '../../domain/lease.ts';
import { TURN_LIMITS } from '../../domain/turn.ts';
import type { ClaimedTurn } from '../../store/turn-record.ts';
import type { PreparedAgent } from '../prepared-agent.ts';
import { StoppedWork, unlessAborted } from '../shutdown.ts';
import { type SoloHold, waitWithin } from '../solo-lock.ts';
import type { ContextCache } from './context-cache.ts';
import { recordModelAnswer } from './model-answer.ts';
import { askModel } from './model-request.ts';
import { PieceStream } from './piece-stream.ts';
import {
  compactWithinTurn,
  countAgain,
  explainTooLarge,
  leaveIfNew,
  leaveUnanswered,
  noteRefusal,
  rollBack,
} from './refused-request.ts';
import { decideStep, mayWaitForPass } from './step-decision.ts';
import { runTools } from './tool-round.ts';
import { briefTurn } from './turn-brief.ts';
import { type ClaimedWork, endBrokenTurn, endTurn } from './turn-end.ts';
import { LostTurn, TurnGuard, TurnTimeout } from './turn-guard.ts';
import { countSteps, MODEL_STEP, modelKey, TurnJournal } from './turn-journal.ts';
import { CLAIMED, endWithin, nextTurnState } from './turn-machine.ts';
import { requestPassAfter, requestUnderLease } from './turn-passes.ts';
import type { TurnPorts, TurnSettings } from './turn-ports.ts';
import { catchUp, startLimit, undoSettled } from './turn-start.ts';
import {
  type ActiveRunStateName,
  failTurn,
  HANDED_BACK,
  mustHandBack,
  type RunFacts,
  type RunningTurn,
  type RunState,
  type TurnEnd,
} from './turn-states.ts';

/** Longest wait in ms until a suspect turn runs alone in the process. After that, another process may try the turn. */
const ALONE_WAIT_MS = 60_000;

export interface OpenDelivery {
  readonly ports: TurnPorts;
  readonly settings: TurnSettings;
  readonly context: ContextCache;
  hold: SoloHold | undefined;
  /** False once the delivery has used up its turns or its time. The settlement then adds a wake for the next turn. */
  mayClaimNext(): boolean;
}

/** @returns the next turn of the conversation, if the settlement of this turn claimed it */
export async function answerClaimedTurn(
  delivery: OpenDelivery,
  claimed: ClaimedTurn,
): Promise<ClaimedTurn | undefined> {
  const { ports, settings } = delivery;
  const startedAt = ports.clock.now();
  const guard = new TurnGuard(claimed.lease, { ...ports, ...settings });
  const work = { claimed, guard, startedAt };
  try {
    try {
      return await unlessAborted(ports.shutdown.workEnds, () => runAndEndTurn(delivery, work));
    } catch (error) {
      if (!(error instanceof StoppedWork)) throw error;
      await cutOff(ports, work, error);
      return undefined;
    }
  } catch (error) {
    if (error instanceof LostTurn) ports.onEvent({ type: 'lease_lost', what: 'turn', ...guard.scope, why: error.why });
    // The delivery reports the first error. An error of `endBrokenTurn` has the same cause, or the lease was lost.
    else await endBrokenTurn(ports, work, error).catch(() => undefined);
    throw error;
  } finally {
    guard.stop();
  }
}

/** Hands the turn back without waiting for its work. Without the lease, that work writes nothing more. */
async function cutOff(ports: TurnPorts, work: ClaimedWork, cause: StoppedWork): Promise<void> {
  work.guard.abort(cause);
  ports.shutdown.noteCutOff();
  const end = { kind: 'handed_back', isCutOff: true } as const;
  await endTurn(ports, { ...work, end, mayClaimNext: false });
}

async function runAndEndTurn(delivery: OpenDelivery, work: ClaimedWork): Promise<ClaimedTurn | undefined> {
  const { ports } = delivery;
  const { claimed, guard } = work;
  const { agent } = claimed;
  const mustBeAlone = claimed.attempt >= TURN_LIMITS.maxAttempts;
  if (mustBeAlone && !(await becomeAlone(delivery, guard))) {
    await endTurn(ports, { ...work, end: HANDED_BACK, mayClaimNext: false });
    return undefined;
  }
  const prepared = ports.agents.find(agent);
  if (prepared === undefined) {
    const end = failTurn(
      'unknown_agent',
      `no running worker has an agent named "${agent}". Start a worker with the agent, and re-drive the turn`,
      { agent },
    );
    return (await endTurn(ports, { ...work, end, mayClaimNext: delivery.mayClaimNext() })).next;
  }
  const run = openTurn(delivery, work, prepared);
  const end = await runTurn(run);
  const ended = { ...work, end, mayClaimNext: delivery.mayClaimNext() };
  return await followUp(run, end, await endTurn(ports, ended));
}

/**
 * Does what follows a settled turn. An error here must not reach that turn, or the next one, which may be claimed.
 * @returns the next turn, if the settlement claimed it
 */
async function followUp(
  run: RunningTurn,
  end: TurnEnd,
  { next, conversation }: Awaited<ReturnType<typeof endTurn>>,
): Promise<ClaimedTurn | undefined> {
  const { ports, journal, claimed } = run;
  const { lease } = claimed;
  if (end.kind !== 'completed' && end.kind !== 'failed') return next;
  if (end.step !== undefined && conversation !== undefined) journal.adoptOutcome(end.step, conversation);
  try {
    // Messages that leave make the context smaller than the journal's state shows. The next turn checks the thresholds.
    if (end.leaves === undefined) return end.kind === 'completed' ? await requestPassAfter(run, next) : next;
    if (next === undefined) await undoSettled(ports, lease);
  } catch (error) {
    // The next turn repeats this work. An erased conversation (`LostTurn`) needs none.
    if (!(error instanceof LostTurn))
      ports.onEvent({ type: 'worker_failed', where: 'turn end', ...nameConversation(lease.conversation), error });
  }
  return next;
}

function openTurn(delivery: OpenDelivery, { claimed, guard }: ClaimedWork, prepared: PreparedAgent): RunningTurn {
  const { ports, settings, context } = delivery;
  if (claimed.earlier !== undefined) context.adopt(claimed.earlier);
  if (claimed.input !== undefined) context.append([claimed.input], claimed.conversation);
  // A turn that recorded an outcome did not crash its worker at once. So other work may run beside the turn again.
  const onOutcome = (): void => delivery.hold?.admitOthers();
  const journal = new TurnJournal({ ...ports, claimed, guard, context, onOutcome });
  // A cancel logs the streamed text with its token count. The first piece counts with the delimiters of its message.
  const countText = async (text: string, at: number): Promise<number> =>
    at > 0 ? await prepared.counter.count(text) : (await prepared.weigh({ role: 'assistant', content: text })).tokens;
  const { onCancel, keepReasoning } = prepared.agent;
  const kept = onCancel !== 'discard' && { countText, keepsReasoning: keepReasoning !== false };
  const streamed = { ...ports, lease: guard.lease, ...kept };
  const stream = new PieceStream(streamed);
  const own = { turnContext: {}, callSettings: {}, lasting: prepared };
  return { claimed, prepared, ...own, journal, context, guard, stream, ports, settings };
}

/** @throws LostTurn if the lease was lost. StoppedWork if the worker stops. */
async function runTurn(run: RunningTurn): Promise<TurnEnd> {
  const { guard, ports, claimed, settings } = run;
  const rules = {
    // The turn may bring a form of the answer of its own.
    get agent() {
      return run.prepared.agent;
    },
    isCompacting: run.prepared.policy.enabled,
    maxTurnTokens: claimed.caps.maxTurnTokens ?? Number.POSITIVE_INFINITY,
    providerWaitMs: settings.providerWaitMs,
  };
  let state: RunState = CLAIMED;
  try {
    while (state.name !== 'end') state = nextTurnState(state, await act(run, state), rules);
  } catch (error) {
    if (!(error instanceof TurnTimeout) || run.limit === undefined) throw error;
    return run.limit.failed;
  } finally {
    guard.unlimit();
  }
  if (run.limit === undefined) return state.end;
  const { failed, until } = run.limit;
  const isOver = guard.signal.reason instanceof TurnTimeout;
  return endWithin(state.end, { failed, leftMs: until - ports.clock.now(), isOver });
}

function act<Name extends ActiveRunStateName>(run: RunningTurn, state: RunState<Name>): Promise<RunFacts[Name]> {
  return ACTIONS[state.name](run, state);
}

const ACTIONS: {
  readonly [Name in ActiveRunStateName]: (run: RunningTurn, state: RunState<Name>) => Promise<RunFacts[Name]>;
} = {
  claimed: startLimit,
  brief: briefTurn,
  catch_up: catchUp,
  check: checkStep,
  ask: askModel,
  record: recordModelAnswer,
  tools: runTools,
  request_pass: async (run, { need }) => ({ passId: await requestUnderLease(run, need) }),
  compact: compactWithinTurn,
  recount: countAgain,
  note_refusal: noteRefusal,
  roll_back: rollBack,
  find_leaving: async (run, { which }) => ({
    leaves: await (which === 'unanswered' ? leaveUnanswered(run) : leaveIfNew(run)),
  }),
  give_up: explainTooLarge,
};

async function checkStep(run: RunningTurn): Promise<RunFacts['check']> {
  const { journal, prepared } = run;
  if (mustHandBack(run)) return { status: 'stopping' };
  await journal.takeSteering(prepared.agent.accepts?.parts === false ? 'parts' : undefined);
  const number = countSteps(journal.steps, MODEL_STEP) + 1;
  const key = modelKey(number);
  const waits = journal.waitsOf(key);
  const decision = decideStep(prepared, journal.conversation, mayWaitForPass(waits, 'threshold'));
  const { steps, spentTokens } = journal;
  return { status: 'checked', key, number, steps: countSteps(steps), spentTokens, decision, waits };
}

/** Waits until no other work runs in this process (I10). @throws LostTurn if the lease was lost */
async function becomeAlone(delivery: OpenDelivery, guard: TurnGuard): Promise<boolean> {
  const { turns, solo, shutdown, timers, isWatched = false } = delivery.ports;
  delivery.hold?.release();
  const wait = { timers, waitMs: ALONE_WAIT_MS, ends: [guard.signal, shutdown.begun] };
  delivery.hold = await waitWithin(wait, (signal) => solo.alone(signal));
  guard.signal.throwIfAborted();
  if (delivery.hold === undefined) return false;
  const started = await turns.startAlone(guard.lease, isWatched);
  if (isLost(started)) throw new LostTurn(started.status);
  return true;
}
