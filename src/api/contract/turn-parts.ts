import type { ToolData, ToolProgress } from '../../domain/tool-notes.ts';
import type { RecordedDecision, TurnView, Waiting } from '../../domain/turn.ts';

export interface Part {
  /** Pass the id of the last handled part as `after` to continue behind it. */
  readonly id: string;
}

export interface StepPart extends Part {
  /** Number of the model step within the turn, from 1. A steering message has the number of the step before it. */
  readonly step: number;
}

export interface PiecePart extends StepPart {
  /** `text`: the pieces of a step make up the text of its message in the log. `reasoning`: in the log as far as the agent keeps it. */
  readonly type: 'text' | 'reasoning';
  /** Characters behind those of the last piece. */
  readonly piece: string;
}

/** A preview: the part `tool-call` follows with the complete call. */
export type CallPreviewPart = StepPart & {
  /** Id of the call, as in the log and for `answer`. */
  readonly call: string;
} & (
    | { readonly type: 'tool-call-start'; readonly name: string }
    | {
        readonly type: 'tool-call-arguments';
        /** Next characters of the arguments. */
        readonly piece: string;
      }
  );

/** The step is recorded, so the call is in the log. */
export interface CallPart extends StepPart {
  readonly type: 'tool-call';
  readonly call: string;
  readonly name: string;
  /** JSON object as text, exactly as the model wrote it. */
  readonly arguments: string;
}

/** Result of a tool call, as the model reads it. */
export interface ResultPart extends StepPart {
  readonly type: 'tool-result';
  readonly call: string;
  readonly content: string;
  /** Texts, images and files of the result. Then `content` has their texts. */
  readonly parts?: readonly unknown[];
  /** True if the call failed, was denied or timed out. */
  readonly isError: boolean;
  /** Decision of a person, or of the deadline, on a call that needed an approval. */
  readonly decision?: RecordedDecision;
}

/**
 * Progress of a running tool call, which replaces the progress before. It comes only while the call runs, and a reader
 * that resumes may get the last one again. It is not kept.
 */
export interface ProgressPart extends StepPart, ToolProgress {
  readonly type: 'progress';
  readonly call: string;
}

/**
 * Value that a tool emitted for readers, and that no model reads. It replaces the value before of the same `call`,
 * `name` and `key`, and a reader may get it again. It is kept in the log with the result of the call.
 */
export interface DataPart extends StepPart, ToolData {
  readonly type: 'data';
  readonly call: string;
}

/** The message of a turn with `onBusy: 'steer'` entered the log before the next model call. */
export interface SteeringPart extends StepPart {
  readonly type: 'steering';
  /** Turn that the message was enqueued as. */
  readonly turn: string;
  /** Position (seq) of the message in the log. */
  readonly seq: number;
  readonly content: string;
}

export type TurnPart =
  | PiecePart
  | CallPreviewPart
  | CallPart
  | ResultPart
  | ProgressPart
  | DataPart
  | SteeringPart
  /** Discard all parts of this step and of later ones: the step runs again, or the turn ended before its record. */
  | (StepPart & { readonly type: 'restart' })
  /** The turn is suspended. Sent once for each wait, and again to a reader that resumes during the wait. */
  | (Part & { readonly type: 'wait'; readonly waiting: Waiting })
  /** The turn is queued behind `turn`, which waits for answers from outside. Sent as often as `wait`. */
  | (Part & { readonly type: 'behind'; readonly turn: string; readonly waiting: Waiting })
  /** A new version was committed while the turn was open. Sizes are in tokens. */
  | (Part & {
      readonly type: 'compaction';
      readonly version: number;
      readonly tokensBefore: number;
      readonly tokensAfter: number;
      /** Number of messages that left the context. */
      readonly archived: number;
    })
  /** The settled turn. After `waitMs`, its current state. */
  | (Part & {
      readonly type: 'end';
      /** The turn, as `result` returns it. */
      readonly view: TurnView;
    });
