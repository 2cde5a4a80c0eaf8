import { boundedList } from '../domain/bounded-schemas.ts';
import { MAX_CALLS } from '../domain/message.ts';
import {
  describeDecision,
  type RecordedDecision,
  WAIT_KINDS,
  type Waiting,
  type WaitingCall,
  waitingCallSchema,
} from '../domain/turn.ts';
import type { RecordFields } from './records.ts';

/** Fields of a turn's record that describe its wait. `turn-record.ts` explains each field. */
export const WAIT_FIELDS = [
  'waitFor',
  'waitStep',
  'waitSince',
  'waitUntil',
  'waitCalls',
  'waitArguments',
  'decisions',
] as const;

const asksSchema = boundedList(waitingCallSchema.omit({ until: true, decision: true }), MAX_CALLS);

/**
 * Decodes what a suspended turn waits for.
 * @param fields at least `WAIT_FIELDS`
 */
export function decodeWaiting(fields: RecordFields): Waiting | undefined {
  if (!fields.has('waitFor')) return undefined;
  return {
    for: fields.oneOf('waitFor', WAIT_KINDS),
    step: fields.text('waitStep') ?? '',
    since: fields.needCount('waitSince'),
    until: fields.needCount('waitUntil'),
    calls: decodeWaitingCalls(fields),
  };
}

function decodeWaitingCalls(fields: RecordFields): WaitingCall[] {
  const lines = fields.text('waitCalls') ?? '';
  const untils = new Map(lines.split('\n').map((line) => [line.split(' ')[0], line.split(' ')[1]] as const));
  const calls = fields.has('waitArguments') ? fields.json('waitArguments', asksSchema) : [];
  const decisions = decodeDecisions(fields);
  return calls.map((call) => {
    const decision = decisions.get(call.id);
    return { ...call, until: fields.toCount('waitCalls', untils.get(call.id)), ...(decision && { decision }) };
  });
}

/** Decodes the lines that `lua/shared/answers.lua` writes. */
function decodeDecisions(fields: RecordFields): ReadonlyMap<string, RecordedDecision> {
  const lines = fields.text('decisions')?.split('\n') ?? [];
  return new Map(
    lines.map((line) => {
      const [call = '', at, verdict = '', _hash, ...by] = line.split(' ');
      return [call, describeDecision(verdict, fields.toCount('decisions', at), by.join(' '))];
    }),
  );
}
