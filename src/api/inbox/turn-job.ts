import { createHash } from 'node:crypto';
import { z } from 'zod';
import { copyBoundedJson } from '../../domain/bounded-json.ts';
import { fieldError } from '../../domain/errors.ts';
import { idSchema } from '../../domain/ids.ts';
import { JSON_TEXT_BOUNDS } from '../../domain/json-text.ts';
import { parseInput } from '../../domain/parse.ts';
import type { InboxHandler, InboxJob } from '../../jobs/ports.ts';
import { INBOX_LIMITS } from '../../jobs/queues.ts';
import { type EnqueuePorts, enqueueMethods } from '../client/enqueue.ts';
import { type EnqueueInput, enqueueSchema } from '../contract/enqueue-input.ts';

const JOB_NAME = 'turn';

/** Without `turn`, the turn's id follows from the job's id, so that a job that is delivered twice is one turn. */
export function readTurnJob({ id, name, addedAt, data }: InboxJob): EnqueueInput {
  if (name !== JOB_NAME) {
    throw fieldError('invalid_input', 'job.name', `expected "${JOB_NAME}", the only kind of job in the inbox`);
  }
  if (typeof data === 'symbol') {
    const { maxDepth, maxValues } = JSON_TEXT_BOUNDS;
    const why = `exceeds a limit of a job: at most ${INBOX_LIMITS.dataCharacters} characters as JSON, ${maxValues} values and names, and ${maxDepth} levels of nesting`;
    throw fieldError('message_too_large', 'job.data', why);
  }
  const { dataCharacters: maxCharacters, maxDepth } = INBOX_LIMITS;
  const read = parseInput(enqueueSchema, copyBoundedJson(data, '', { maxCharacters, maxDepth }));
  return { ...read, turn: read.turn ?? nameTurn(id, addedAt), context: read.context as EnqueueInput['context'] };
}

const LONGEST_JOB_ID = 100;

/** BullMQ numbers jobs from 1 again after each removal of the queue, so a number alone would repeat. */
function nameTurn(id: string, addedAt: number): string {
  const isNumber = /^\d+$/.test(id);
  const isName = id.length <= LONGEST_JOB_ID && idSchema.safeParse(id).success;
  if (isNumber && isName) return `inbox-${id}-${addedAt}`;
  return `inbox-${isName ? id : createHash('sha256').update(id).digest('hex')}`;
}

const TURN_DESCRIPTION =
  'Id of the turn. Without one, the id follows from the id of the job. Two jobs with one turn id are one turn.';

/** JSON Schema, draft 2020-12. */
export function describeTurnJob(): object {
  const { properties = {}, ...schema } = z.toJSONSchema(enqueueSchema, { io: 'input' });
  const described = Object.entries(properties).map(([name, property]) => [
    name,
    {
      ...(property as object),
      ...(name === 'context' && { type: 'object' }),
      ...(name === 'turn' && { description: TURN_DESCRIPTION }),
    },
  ]);
  return {
    ...schema,
    title: 'turnfold inbox job',
    description: `Data of a BullMQ job named "${JOB_NAME}" in the queue "inbox".`,
    properties: Object.fromEntries(described) as object,
  };
}

export function createInboxHandler(ports: EnqueuePorts): InboxHandler {
  return async (job) => {
    const { tenant, conversation, turn, state, isNew } = await enqueueMethods.enqueueTurn(ports, readTurnJob(job));
    return { tenant, conversation, turn, state, isNew };
  };
}
