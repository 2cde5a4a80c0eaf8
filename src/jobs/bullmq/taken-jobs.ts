import type { RedisQueueBackend } from 'bullmq';
import { refuseJsonText } from '../../domain/json-text.ts';

/** Fields of a job that BullMQ parses when a worker takes the job. The data is not among them: its limit depends on the queue. */
const PARSED: readonly unknown[] = ['opts', 'progress', 'parent', 'stacktrace', 'returnvalue'];
/** Longest such field, in characters. turnfold writes a few hundred. */
const MOST_CHARACTERS = 65_536;
/** Commands whose reply contains the next job of the worker. */
const TAKING: ReadonlySet<string> = new Set(['moveToActive', 'moveToFinished']);
/** A job that a delivery refuses. It is not kept. */
const WITHOUT_DATA = ['data', 'null', 'opts', '{"removeOnComplete":true,"removeOnFail":true}'];

/**
 * Checks each job that a worker takes before BullMQ parses its fields, because another program may have written them. Text that is
 * not JSON would stop the worker for 15 s. JSON of 4 MB would hold its event loop. Such a job is delivered without data.
 * @param clear removes fields of the job's record in Redis, because BullMQ's scripts parse them too
 */
export function checkTakenJobs(
  backend: RedisQueueBackend,
  clear: (jobId: string, fields: readonly string[]) => Promise<unknown>,
): void {
  const execute = backend.execCommand.bind(backend);
  backend.execCommand = (client, command, args): unknown => {
    const reply: unknown = execute(client, command, args);
    return TAKING.has(command) && reply instanceof Promise ? reply.then(replaceUnreadable) : reply;
  };

  async function replaceUnreadable(reply: unknown): Promise<unknown> {
    if (!Array.isArray(reply)) return reply;
    const [fields, jobId, ...limits] = reply as unknown[];
    if (!Array.isArray(fields) || typeof jobId !== 'string' || !isUnreadable(fields)) return reply;
    await clear(jobId, ['parent', 'parentKey']);
    return [WITHOUT_DATA, jobId, ...limits];
  }
}

/** @param fields names and values of a job, in turn */
function isUnreadable(fields: readonly unknown[]): boolean {
  return fields.some((text, at) => at % 2 === 1 && PARSED.includes(fields[at - 1]) && isHostile(text));
}

function isHostile(text: unknown): boolean {
  if (typeof text !== 'string' || text === '') return false;
  if (text.length > MOST_CHARACTERS || refuseJsonText(text) !== undefined) return true;
  try {
    JSON.parse(text);
    return false;
  } catch {
    return true;
  }
}
