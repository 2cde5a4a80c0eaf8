import { writeBoundedJson } from '../domain/bounded-json.ts';
import { isTurnfoldError } from '../domain/errors.ts';
import { clipText, describeThrown, isError, readSafely, type ThrownFacts } from '../domain/thrown.ts';

const MAX_CAUSES = 3;
/** Maximum length of a logged stack. A stack begins with the error message, which may have megabytes. */
const STACK_CHARACTERS = 16_000;
const FIELD_CHARACTERS = 300;
/**
 * Maximum length of an error's details. Larger details are left out, because details should hold only figures and
 * ids.
 */
const DETAILS_CHARACTERS = 4_000;

/**
 * Describes any thrown value for a log line. Never throws.
 * Messages of errors with a turnfold code quote no texts of conversations. Other messages may: `JSON.parse` quotes its
 * input, and a provider quotes the refused request. Such errors are described by name, code and place only, unless the
 * operator allowed texts in logs.
 * @param isVerbose if true, adds the messages and stacks of all errors
 */
export function describeError(error: unknown, isVerbose: boolean, depth = 0): Record<string, unknown> {
  const { name, message, code } = describeThrown(error);
  if (!isError(error)) return { name, message: isVerbose ? message : undefined };
  const stack = readSafely(error, 'stack');
  const facts = isTurnfoldError(error)
    ? { code, message, ...describeFault(error) }
    : {
        name,
        code: chooseCode({ name, message, code }),
        at: findPlace(error, stack),
        message: isVerbose ? message : undefined,
      };
  const reason = readSafely(error, 'cause');
  const cause = reason === undefined || depth === MAX_CAUSES ? undefined : describeError(reason, isVerbose, depth + 1);
  return {
    ...facts,
    stack: isVerbose && typeof stack === 'string' ? clipText(stack, STACK_CHARACTERS) : undefined,
    cause,
  };
}

/** Returns field and details of an error with a turnfold code. */
function describeFault(error: object): Record<string, unknown> {
  const [field, details] = [readSafely(error, 'field'), readSafely(error, 'details')];
  const written = details === undefined ? undefined : writeBoundedJson(details, { maxCharacters: DETAILS_CHARACTERS });
  return {
    ...(typeof field === 'string' && { field: clipText(field, FIELD_CHARACTERS) }),
    ...(written?.status === 'written' && { details: JSON.parse(written.json) as unknown }),
  };
}

/**
 * Chooses the error code: that of a system call (`ECONNREFUSED`) or of Redis (`READONLY`, the first word of its
 * reply).
 */
function chooseCode({ name, message, code }: ThrownFacts): string | undefined {
  const given = name === 'ReplyError' ? message.split(' ', 1)[0] : code;
  return given !== undefined && /^[A-Z][A-Z0-9_]{1,63}$/.test(given) ? given : undefined;
}

/** Finds the first stack frame. The message comes before the frames, and may contain lines that look like frames. */
function findPlace(error: object, stack: unknown): string | undefined {
  const message = readSafely(error, 'message');
  if (typeof message !== 'string' || typeof stack !== 'string') return undefined;
  const start = stack.indexOf(message);
  const frames = stack.slice(start + message.length, start + message.length + STACK_CHARACTERS);
  return start === -1 ? undefined : /^[ \t]*at (.+)$/m.exec(frames)?.[1];
}
