import { NO_PLACE } from './common-refusals.ts';
import type { Refusals } from './refusal.ts';

/** A run that its thread refuses ends with an event of its stream, so few refusals of a run have a status. */
export const agUiRefusals: Refusals = {
  runAgent: [
    {
      code: 'invalid_input',
      field: 'messages',
      says: 'expected a user message or tool messages at the end, or `resume`',
      body: { messages: [] },
    },
    NO_PLACE,
  ],
  runNamedAgent: [
    { code: 'invalid_input', field: 'agent', says: 'must match [A-Za-z0-9_.-]{1,128}', params: { agent: 'a b' } },
    NO_PLACE,
  ],
  connectThread: [
    { code: 'invalid_input', field: 'threadId', says: 'must match [A-Za-z0-9_.-]{1,128}', body: { threadId: 'a b' } },
    NO_PLACE,
  ],
  stopRun: [
    {
      code: 'invalid_input',
      field: 'runId',
      says: 'expected the run to stop, or a `messageId` of it, because a stop without a name could end a later run',
      body: { runId: undefined },
    },
    {
      code: 'not_found',
      field: 'runId',
      says: 'the thread has no run none, or its turn is no longer kept. A run with this id that comes within a minute ends at once',
      body: { threadId: 'kept', runId: 'none' },
    },
  ],
};
