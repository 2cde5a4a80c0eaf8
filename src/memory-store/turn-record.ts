import type { TraceParent } from '../domain/ids.ts';
import type { WeighedMessage } from '../domain/message.ts';
import type { StoredAnswer, UnusedAnswer } from '../domain/ports/turn-answers.ts';
import type { StreamEntry } from '../domain/ports/turn-streams.ts';
import type {
  AnswerEnd,
  StepRecord,
  TurnCaps,
  TurnFailure,
  TurnState,
  TurnUsage,
  Waiting,
  WaitRequest,
} from '../domain/turn.ts';

/** Record of one turn. Redis stores it in the hash `t:<id>:<turn>`. */
export interface MemoryTurn {
  readonly turn: string;
  readonly agent: string;
  readonly payloadHash: string;
  readonly acceptedAt: number;
  readonly traceParent?: TraceParent | undefined;
  readonly dueAt?: number;
  readonly caps?: TurnCaps | undefined;
  /** Context that the caller passed with the turn. Removed when the turn is settled. */
  context?: string | undefined;
  /** User message of the turn. Removed once the message is in the log. */
  input?: WeighedMessage | undefined;
  state: TurnState;
  /** Owner of the first claim since the turn was accepted or last suspended. */
  taken?: string | undefined;
  /** Time before which no worker claims the turn. */
  putOffUntil?: number | undefined;
  inputSeq?: number;
  readonly steps: Map<string, StepRecord>;
  readonly answers: Map<string, string>;
  /** For each answered tool call id, the answer that counts. Kept once the turn is settled. */
  readonly decisions: Map<string, MemoryDecision>;
  /** For each tool call id, the result to log if no step uses the accepted answer. */
  readonly unused: Map<string, UnusedAnswer>;
  readonly suspensions: Map<string, number>;
  /** For each step whose waits end by time, the time of its first suspension. */
  readonly suspendedSince: Map<string, number>;
  /** The wait of a suspended turn. Kept after the wait ends, until the outcome of the waiting step is recorded. */
  waiting?:
    | (Waiting &
        Pick<WaitRequest, 'suspendedIn' | 'isHeld'> & { isOver: boolean; isFulfilled: boolean; readonly steps: number })
    | undefined;
  usage?: TurnUsage;
  requestTokens?: number[];
  answerSeq?: number;
  /** Seq of the text that a canceled turn had streamed. */
  stoppedSeq?: number;
  isStructured?: boolean;
  end?: AnswerEnd;
  failure?: TurnFailure;
  readonly redriveOf?: string;
  /** True while the turn waits to go into the running turn. */
  isSteering?: boolean;
  /** Running turn into which the message of this turn went. */
  steeredInto?: string;
  /** Ids of the requests that brought answers, oldest first. */
  requests?: readonly string[];
  redrivenAs?: string;
  settledAt?: number;
  /** Wake (id of a queue job) that the cancel of the turn recorded. */
  canceledBy?: string;
}

export interface MemoryDecision extends Pick<StoredAnswer, 'verdict' | 'hash' | 'by'> {
  readonly at: number;
}

/** Stream of a followed turn. Redis stores it under the key `out:<id>:<turn>`. */
export interface MemoryStream {
  readonly entries: StreamEntry[];
  /** Number of entries ever added, from which the next id is made. */
  count: number;
  bytes: number;
  /** Time in ms at which the stream of a settled turn expires. */
  until?: number;
}
