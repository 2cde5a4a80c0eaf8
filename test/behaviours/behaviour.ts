import type { Message } from '../../src/domain/message.ts';
import type { ModelErrorKind, ModelProfile, ToolDescription } from '../../src/domain/model.ts';
import type { WireFormat } from '../../src/domain/raw-items.ts';
import type { RawAnswer } from '../provider/fault.ts';

/** Effect of one reply of the provider. */
export type Expectation =
  /** The call fails with this kind of error. `code` is the provider's code, if the error must have it. */
  | { readonly error: ModelErrorKind; readonly code?: string }
  | {
      readonly text?: string;
      /** Name and arguments of each tool call. */
      readonly calls?: readonly (readonly [name: string, args: string])[];
      readonly end?: 'complete' | 'cut_off' | 'refusal';
    };

/** One behaviour of a real provider, gateway or local server, with its effect. */
export interface Behaviour {
  readonly id: string;
  readonly provider: string;
  /** Address of the documentation, source or report that shows the behaviour. */
  readonly source: string;
  /** Behaviour of the provider, as a part of a sentence for the reference page. */
  readonly does: string;
  /** Effect in turnfold, as a sentence for the reference page. */
  readonly must: string;
  readonly format: WireFormat;
  /** The model's name at the provider. Default `model-1`. */
  readonly model?: string;
  readonly profile?: Partial<ModelProfile>;
  /** Replies of the provider, one for each request. */
  readonly replies: readonly RawAnswer[];
  /** Steps of the conversation. Each step calls the model once. Default: one user message. */
  readonly steps?: readonly Step[];
}

export interface Step {
  /** Messages that are added before the call. The answer of the step before is added in front of them. */
  readonly messages?: readonly Message[];
  readonly tools?: readonly ToolDescription[];
  readonly version?: number;
  readonly effect: Expectation;
  /** Patterns that the last request of the step must contain, as JSON text. */
  readonly sends?: readonly RegExp[];
  /** Patterns that the last request of the step must not contain. */
  readonly omits?: readonly RegExp[];
}

/** A behaviour of one call, with the effect of its only reply. */
export type OneCall = Omit<Behaviour, 'replies' | 'steps'> & {
  readonly reply: RawAnswer;
  readonly effect: Expectation;
};

export function oneCall({ reply, effect, ...behaviour }: OneCall): Behaviour {
  return { ...behaviour, replies: [reply], steps: [{ effect }] };
}
