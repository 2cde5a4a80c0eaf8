import type { ConversationRef } from '../ids.ts';
import type { StepRecord } from '../turn.ts';

/** The records of a turn's steps, and the claim of the worker that runs the turn. */
export interface RecordedSteps {
  /** Records by the key of the step, markers of waits among them. */
  readonly steps: ReadonlyMap<string, StepRecord>;
  /** Present while the turn is the first of its conversation and a worker has claimed it. */
  readonly claim?: TurnClaim;
}

/** Claim of a turn by a worker. */
export interface TurnClaim {
  /** Claims since the last recorded step, this one included. */
  readonly attempts: number;
  /** End of the worker's lease in ms since epoch, by the clock of Redis. Absent after the worker has handed it back. */
  readonly leaseUntil?: number;
}

/** Reads the progress of turns, for people. */
export interface StepReader {
  /** @returns undefined if the turn does not exist */
  readSteps(conversation: ConversationRef, turn: string): Promise<RecordedSteps | undefined>;
}
