/** A running turn: the objects its actions share, the states of its machine, and the facts that actions return. */

import type { Agent } from '../../domain/agent.ts';
import type { ErrorCode } from '../../domain/errors.ts';
import type { Leaving, Message } from '../../domain/message.ts';
import type { ModelAnswer, ModelErrorKind } from '../../domain/model.ts';
import type { AnswerEnd, TurnFailure, WaitRequest } from '../../domain/turn.ts';
import type { TurnContext } from '../../domain/turn-context.ts';
import type { TurnOwn } from '../../domain/turn-own.ts';
import type { ClaimedTurn } from '../../store/turn-record.ts';
import type { StepOutcome } from '../../store/turn-steps.ts';
import type { PreparedAgent } from '../prepared-agent.ts';
import type { ContextCache, SentContext } from './context-cache.ts';
import type { PieceStream } from './piece-stream.ts';
import type { SoftPass, StepDecision, StepWaits } from './step-decision.ts';
import type { TurnGuard } from './turn-guard.ts';
import type { TurnJournal } from './turn-journal.ts';
import type { PassNeed, Recount, TurnPorts, TurnSettings } from './turn-ports.ts';

export interface RunningTurn {
  readonly claimed: ClaimedTurn;
  prepared: PreparedAgent;
  /** Context that the caller gave for the turn. `{}` until the state `brief`. */
  turnContext: TurnContext;
  /** Settings of the model calls of this turn. */
  callSettings: Pick<TurnOwn, 'toolChoice' | 'maxOutputTokens'>;
  /** The agent without what this turn brings: the next turn may bring nothing. */
  lasting: PreparedAgent;
  readonly journal: TurnJournal;
  readonly context: ContextCache;
  readonly guard: TurnGuard;
  readonly stream: PieceStream;
  readonly ports: TurnPorts;
  readonly settings: TurnSettings;
  /** Time limit. `until` is in ms since epoch, by this process's clock. */
  limit?: { readonly until: number; readonly failed: FailedEnd };
}

/** True if the process stops, or another turn waits to run alone in it. No model or tool call may begin then. */
export function mustHandBack({ ports: { shutdown, solo } }: Pick<RunningTurn, 'ports'>): boolean {
  return shutdown.begun.aborted || solo.isWanted;
}

/** How the work on a turn ends. Any action may decide this, but only `endTurn` writes it. */
export type TurnEnd =
  | {
      readonly kind: 'completed';
      readonly answerSeq: number;
      readonly end?: AnswerEnd | undefined;
      /** True if the answer matches the schema of the agent. */
      readonly isStructured?: boolean;
      readonly leaves?: Leaving | undefined;
      readonly step: StepOutcome;
    }
  | FailedEnd
  | {
      readonly kind: 'suspended';
      readonly wait: WaitRequest;
      /** Cause of a retry, without contents. Reported if the turn is suspended too often. */
      readonly why?: { readonly message: string; readonly code?: string | undefined };
    }
  /** `isCutOff`: the work was interrupted within a call. `delayMs`: time until a worker may take the turn again. */
  | { readonly kind: 'handed_back'; readonly isCutOff: boolean; readonly delayMs?: number };

export interface FailedEnd {
  readonly kind: 'failed';
  readonly failure: TurnFailure;
  readonly leaves?: Leaving | undefined;
  readonly step?: StepOutcome;
}

/** The turn is handed back between two calls, so no work is lost. */
export const HANDED_BACK: TurnEnd = { kind: 'handed_back', isCutOff: false };

/** @param details numbers and ids, never contents of the conversation */
export function failTurn(code: ErrorCode, message: string, details?: TurnFailure['details']): FailedEnd {
  return { kind: 'failed', failure: { code, message, ...(details === undefined ? {} : { details }) } };
}

/** Adds the messages that leave the context. Without them, later turns can be answered. */
export function leaveContext({ failure, ...end }: FailedEnd, leaves: Leaving | undefined): FailedEnd {
  if (leaves === undefined) return { ...end, failure };
  const message = `${failure.message}. The messages of this turn leave the context. The log keeps them`;
  return { ...end, failure: { ...failure, message }, leaves };
}

/** The error of a model call, classified by its consequence for the turn. */
export interface ModelFailure {
  readonly kind: ModelErrorKind;
  /** Text without contents of the conversation. */
  readonly message: string;
  readonly retryAt?: number | undefined;
  /** The provider's code, or the id of the rule that turnfold found broken. */
  readonly code?: string | undefined;
  /** Structure of the refused request as JSON, without contents. */
  readonly form?: string | undefined;
  /** True if the provider refused what the messages say or contain. */
  readonly refusesContents?: boolean;
  /** True if the provider named a size or a limit, but no message. */
  readonly mayBeTooLong?: boolean;
  /** True if the gate of the model chose the time of the next attempt. */
  readonly isHeld?: boolean;
}

/** An assistant message. The log contains it, unless it is the final answer. */
export interface Answered {
  readonly key: string;
  readonly seq: number;
  readonly message: Message;
  readonly end?: AnswerEnd | undefined;
}

export interface TurnRules {
  readonly agent: Agent;
  readonly isCompacting: boolean;
  readonly maxTurnTokens: number;
  readonly providerWaitMs: number;
}

export interface TimeLimit {
  readonly leftMs: number;
  readonly failed: FailedEnd;
}

interface ModelStep {
  readonly key: string;
}

interface TooLarge {
  readonly tokens: number;
  /** Set if the provider refused the request as too long. */
  readonly refusal?: ModelFailure | undefined;
}

interface States {
  claimed: object;
  brief: object;
  catch_up: object;
  check: object;
  ask: ModelStep & { readonly number: number; readonly tokens: number; readonly soft: SoftPass };
  record: ModelStep & { readonly tokens: number; readonly answer: ModelAnswer; readonly sent: SentContext };
  tools: { readonly answered: Answered };
  request_pass: ModelStep & { readonly need: PassNeed };
  /** `isLastResort`: the model call may wait for no further pass, and fails unless its request fits now. */
  compact: ModelStep & { readonly need: PassNeed; readonly isLastResort: boolean };
  recount: ModelStep & TooLarge;
  note_refusal: ModelStep & { readonly tokens: number };
  roll_back: ModelStep & { readonly version: number; readonly failure: ModelFailure };
  find_leaving: { readonly failure: ModelFailure; readonly which: 'unanswered' | 'if_new' };
  give_up: TooLarge & { readonly recount?: Recount };
  end: { readonly end: TurnEnd };
}

export type ActiveRunStateName = Exclude<keyof States, 'end'>;

export type RunState<Name extends keyof States = keyof States> = {
  readonly [Each in Name]: { readonly name: Each } & States[Each];
}[Name];

interface FailedCall {
  readonly status: 'failed';
  readonly failure: ModelFailure;
  readonly version: number;
  /** True if no model has answered a request with this version, which a pass or a rollback made. */
  readonly isUnanswered: boolean;
  readonly waits: StepWaits;
  readonly retryAfterMs: number;
  /** Random number from 0 to 1, for jitter. */
  readonly random: number;
}

export interface RunFacts {
  claimed: { readonly limit: TimeLimit | undefined };
  brief: { readonly status: 'briefed' } | { readonly status: 'failed'; readonly failed: FailedEnd };
  catch_up: { readonly last: Answered | undefined };
  check:
    | { readonly status: 'stopping' }
    | {
        readonly status: 'checked';
        readonly key: string;
        readonly number: number;
        /** Number of model and tool calls so far. */
        readonly steps: number;
        readonly spentTokens: number;
        readonly decision: StepDecision;
        readonly waits: StepWaits;
      };
  ask: { readonly status: 'answered'; readonly answer: ModelAnswer; readonly sent: SentContext } | FailedCall;
  record:
    | { readonly status: 'unusable'; readonly why: string }
    /** A final answer. The settlement records the outcome. */
    | {
        readonly status: 'final';
        readonly answered: Answered;
        readonly outcome: StepOutcome;
        readonly leaves?: Leaving;
      }
    | { readonly status: 'recorded'; readonly answered: Answered }
    /** The answer was recorded, with a message that asks for a corrected answer. */
    | { readonly status: 'to_correct' };
  tools: { readonly status: 'closed' } | { readonly status: 'ended'; readonly end: TurnEnd };
  request_pass: { readonly passId: string };
  compact: { readonly doesFit: boolean; readonly waits: StepWaits; readonly random: number };
  /** `fits`: the context has changed meanwhile, and the request fits. */
  recount: { readonly status: 'fits' } | { readonly status: 'counted'; readonly recount: Recount };
  note_refusal: { readonly need: PassNeed; readonly waits: StepWaits };
  /** `maySend`: the request with the older version may be sent. Otherwise the turn waits for a pass. */
  roll_back: { readonly maySend: boolean };
  find_leaving: { readonly leaves: Leaving | undefined };
  give_up: { readonly failed: FailedEnd; readonly leaves: Leaving | undefined };
}
