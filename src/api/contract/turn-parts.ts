import type { TurnView, Waiting } from '../../domain/turn.ts';

/** The place of a part in its turn. */
export interface Part {
  /** Position behind this part. Pass the id of the last handled part as `after` to continue. */
  readonly id: string;
}

/** A part of one model step. */
export interface StepPart extends Part {
  /** Number of the model step within the turn, from 1. A tool call and its result have the step of their message. A steering
   * message has the step before it, 0 before the first one. */
  readonly step: number;
}

/** A piece of what a model writes. */
export interface PiecePart extends StepPart {
  /** `text`: the answer. The pieces of a step make up the text of its message in the log. `reasoning`: never in the log. */
  readonly type: 'text' | 'reasoning';
  /** The characters that follow those of the last piece. */
  readonly piece: string;
}

/** A tool call that the model is writing. A preview: the part `tool-call` follows with the complete call. */
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

/** A complete tool call. The step is recorded, so the call is in the log. */
export interface CallPart extends StepPart {
  readonly type: 'tool-call';
  readonly call: string;
  readonly name: string;
  /** JSON object as text, exactly as the model wrote it. */
  readonly arguments: string;
}

/** The recorded result of a tool call, as the model reads it. */
export interface ResultPart extends StepPart {
  readonly type: 'tool-result';
  readonly call: string;
  readonly content: string;
  /** True if the call failed, was denied or timed out. */
  readonly isError: boolean;
}

/** The message of a turn with `onBusy: 'steer'` entered the log here, before the next model call. */
export interface SteeringPart extends StepPart {
  readonly type: 'steering';
  /** Id of the turn that the message was enqueued as. */
  readonly turn: string;
  /** Position (seq) of the message in the log. */
  readonly seq: number;
  readonly content: string;
}

/** A part of a turn. The parts come in the order of the turn. */
export type TurnPart =
  | PiecePart
  | CallPreviewPart
  | CallPart
  | ResultPart
  | SteeringPart
  /**
   * Discard all parts of this step and of later ones. Their step runs again, another model answers, or the turn ended
   * before the step was recorded.
   */
  | (StepPart & { readonly type: 'restart' })
  /** The turn is suspended. Sent once for each wait, and again to a reader that resumes while the turn waits. */
  | (Part & {
      readonly type: 'wait';
      /** The calls or the event that the turn waits for, with the deadline. */
      readonly waiting: Waiting;
    })
  /**
   * The turn is queued behind another turn, which waits for answers from outside. Sent once for each such wait, and again to
   * a reader that resumes during it.
   */
  | (Part & {
      readonly type: 'behind';
      /** The turn that waits. */
      readonly turn: string;
      /** The wait of that turn, with the calls for `answer`. */
      readonly waiting: Waiting;
    })
  /** A new version of the context was committed while the turn was open. Sizes are in tokens. */
  | (Part & {
      readonly type: 'compaction';
      readonly version: number;
      readonly tokensBefore: number;
      readonly tokensAfter: number;
      /** Number of messages that left the context. */
      readonly archived: number;
    })
  /** The last part: the settled turn. If `waitMs` has passed first, the turn's current state. */
  | (Part & {
      readonly type: 'end';
      /** The turn, as `result` returns it. */
      readonly view: TurnView;
    });
