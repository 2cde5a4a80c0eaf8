import type { ModelErrorKind } from '../domain/model.ts';
import type { TeachingError } from './refused-form.ts';

/**
 * A kind of provider error. A failed request matches a row by error code or type, by HTTP status, or by the text of the
 * provider's message.
 */
export interface ErrorRow {
  readonly kind: ModelErrorKind;
  /** Description for people, which becomes the error message. */
  readonly words: string;
  /** Error codes or types by which providers report this kind of error. */
  readonly types?: readonly string[];
  readonly statuses?: readonly number[];
  /** Patterns of the error messages by which providers report this kind of error. */
  readonly texts?: readonly RegExp[];
  /** Returns true if the meaning of an error message is this kind of error. Used together with `texts`. */
  readonly states?: (message: string) => boolean;
  /** Patterns that are more specific than the error's code and status. */
  readonly decidingTexts?: readonly RegExp[];
  /** True if the error says that the provider refused what the messages say or hold. */
  readonly refusesContents?: true;
  /** True if the provider limits the rate of calls, or is overloaded, so that other calls of the model would fail as well. */
  readonly isLimit?: true;
  /** The form in which the provider may accept the same request. */
  readonly lesson?: TeachingError['lesson'];
}
