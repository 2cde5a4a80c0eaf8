import { type InputRequest, inputRequired, inputResponse } from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { CallAnswer, TurnView } from '../../api/client/index.ts';
import { nameWaitingCall, undecided } from '../../api/http/front-end/call-names.ts';
import { describeCall } from '../turn-text.ts';
import { clipMiddle } from './fit-json.ts';

/** Characters of a call that a question shows. */
const SHOWN_CHARACTERS = 4_000;

const decisionSchema = z.object({
  approve: z.boolean().describe('Allow the call?'),
  why: z.string().optional().describe('Reason of a denial, which the agent reads.'),
});
const resultSchema = z.object({ result: z.string().describe('Result of the call, which the agent reads.') });

/**
 * Makes a question for each open call of a turn that waits: may it run, or what is its result? The name of the question
 * has the hash of the call, so that an answer never reaches another call with the same id (I21).
 */
export function askForCalls({ waiting }: TurnView): Record<string, InputRequest> {
  const open = waiting === undefined ? [] : undecided(waiting.calls);
  return Object.fromEntries(
    open.map((call) => {
      const shown = clipMiddle(describeCall(call), SHOWN_CHARACTERS);
      const question =
        waiting?.for === 'approval'
          ? inputRequired.elicit({ message: `May the agent run ${shown}?`, requestedSchema: decisionSchema })
          : inputRequired.elicit({
              message: `The agent waits for the result of ${shown}`,
              requestedSchema: resultSchema,
            });
      return [nameWaitingCall(call), question];
    }),
  );
}

/**
 * Reads what a person answered. A person who declines denies the call. A person who closes the question answers
 * nothing, and the turn still waits.
 */
export function readDecisions({ waiting }: TurnView, responses: Readonly<Record<string, unknown>> = {}) {
  const answers: Record<string, CallAnswer> = {};
  for (const call of waiting === undefined ? [] : undecided(waiting.calls)) {
    const { id, hash } = call;
    const given = inputResponse({ ...responses }, nameWaitingCall(call));
    if (given.kind !== 'elicit' || given.action === 'cancel') continue;
    const named = hash === undefined ? {} : { hash };
    if (waiting?.for === 'approval') {
      const { success, data } = decisionSchema.safeParse(given.content ?? {});
      const approved = given.action === 'accept' && success && data.approve;
      answers[id] = { approved, ...(data?.why !== undefined && { why: data.why }), ...named };
    } else if (given.action === 'decline') {
      answers[id] = { content: 'failed: the person gave no result', isError: true, ...named };
    } else {
      const { success, data } = resultSchema.safeParse(given.content ?? {});
      if (success) answers[id] = { content: data.result, ...named };
    }
  }
  return answers;
}
