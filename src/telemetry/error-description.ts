import { isTurnfoldError } from '../domain/errors.ts';

/** causes of causes that are still told */
const MAX_CAUSES = 3;

/**
 * An error as a log line carries it. Only a coded error's message is known to hold no contents: `JSON.parse` quotes what it
 * could not read, a provider the request that it refused. Of any other the name, the code and the place say what failed;
 * the message and the stack, which repeats it, are for whoever has asked for contents.
 * @param isVerbose with messages and stacks of every error, whatever they quote
 */
export function describeError(error: unknown, isVerbose: boolean, depth = 0): Record<string, unknown> {
  if (!(error instanceof Error)) return { name: typeof error };
  const { name, message, stack } = error;
  const told = isTurnfoldError(error)
    ? { ...error.toJSON() }
    : { name, code: readCode(error), at: findPlace(error), message: isVerbose ? message : undefined };
  const cause =
    error.cause === undefined || depth === MAX_CAUSES ? undefined : describeError(error.cause, isVerbose, depth + 1);
  return { ...told, stack: isVerbose ? stack : undefined, cause };
}

/** The code of a system call (`ECONNREFUSED`) or of Redis (`READONLY`), which is the first word of its answer. */
function readCode(error: Error): string | undefined {
  const given = error.name === 'ReplyError' ? error.message.split(' ', 1)[0] : 'code' in error ? error.code : undefined;
  return typeof given === 'string' && /^[A-Z][A-Z0-9_]{1,63}$/.test(given) ? given : undefined;
}

/** Where it was thrown. The frames follow the message, which may look like a frame itself. */
function findPlace({ message, stack = '' }: Error): string | undefined {
  const start = stack.indexOf(message);
  return start === -1 ? undefined : /^[ \t]*at (.+)$/m.exec(stack.slice(start + message.length))?.[1];
}
