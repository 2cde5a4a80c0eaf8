import type { Lost, StepOutcome, StepResult, TurnLease } from '../../domain/ports/turn-store.ts';
import { TURN_LIMITS } from '../../domain/turn.ts';
import { decodeStepState, encodeOpenCall, STEP_STATE_FIELDS } from '../conversation-record.ts';
import type { Keyspace } from '../keys.ts';
import { encodeMessages } from '../log-entry.ts';
import { RecordFields } from '../record-fields.ts';
import { encodePairs, type ScriptDefinition } from '../script.ts';
import { turnLeaseArgs } from './lease.ts';

interface RecordRequest {
  readonly lease: TurnLease;
  readonly outcome: StepOutcome;
}

type Reply = [Lost['status']] | ['recorded' | 'known', (string | null)[]];

export function recordStep(keyspace: Keyspace): ScriptDefinition<RecordRequest, StepResult> {
  return {
    file: 'record-step',
    keys: ({ lease }) => keyspace.conversation(lease.conversation),
    args: ({ lease, outcome }) => [
      ...turnLeaseArgs(lease),
      TURN_LIMITS.leaseMs,
      outcome.key,
      outcome.expectedHead ?? '',
      outcome.anchor?.tokens ?? '',
      outcome.anchor?.version ?? '',
      outcome.anchor?.fingerprint ?? '',
      outcome.answeredVersion ?? '',
      outcome.usage?.inputTokens ?? 0,
      outcome.usage?.outputTokens ?? 0,
      outcome.requestTokens ?? '',
      outcome.end ?? '',
      STEP_STATE_FIELDS.length,
      ...STEP_STATE_FIELDS,
      outcome.opens.length,
      ...outcome.opens.map(encodeOpenCall),
      outcome.closes.length,
      ...outcome.closes,
      ...encodePairs([...(outcome.texts ?? [])]),
      ...encodeMessages(outcome.messages),
    ],
    decode: (reply, { lease }) => {
      const answer = reply as Reply;
      if (answer.length === 1) return { status: answer[0] };
      const record = RecordFields.ofValues(keyspace.key(lease.conversation, 'c'), STEP_STATE_FIELDS, answer[1]);
      return { status: answer[0], conversation: decodeStepState(record) };
    },
  };
}
