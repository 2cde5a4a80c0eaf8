import type { WorkerEvent } from '../../src/domain/events.ts';

type EventOf<Type extends WorkerEvent['type']> = Extract<WorkerEvent, { type: Type }>;

export const scope = {
  conversation: { tenant: 'acme', id: 'conv-4711' },
  turn: 'turn-4712',
  passId: 'pass-4713',
} as const;

/** One event of every type, with every field set. */
export const samples: { readonly [Type in WorkerEvent['type']]: EventOf<Type> } = {
  turn_claimed: { type: 'turn_claimed', ...scope, agent: 'support', attempt: 1, waitMs: 1_500 },
  turn_settled: { type: 'turn_settled', ...scope, outcome: 'failed', code: 'step_limit', durationMs: 2_500 },
  turn_suspended: { type: 'turn_suspended', ...scope, for: 'approval', waitMs: 86_400_000 },
  tool_called: { type: 'tool_called', ...scope, name: 'read_file', outcome: 'invalid_input', durationMs: 250 },
  model_called: {
    type: 'model_called',
    ...scope,
    purpose: 'turn',
    model: 'scripted',
    outcome: 'answered',
    durationMs: 4_000,
    tokens: 33_000,
    isOverLimit: true,
    inputTokens: 32_500,
    outputTokens: 700,
  },
  pass_requested: { type: 'pass_requested', ...scope, reasons: ['ratio', 'hard_limit'], isJoined: false },
  pass_fanned_out: { type: 'pass_fanned_out', ...scope, jobs: 3, sequences: 5 },
  pass_ended: {
    type: 'pass_ended',
    ...scope,
    outcome: 'committed',
    code: 'conflict',
    strategy: 'summarize',
    reasons: ['ratio', 'hard_limit', 'turn_end'],
    durationMs: 7_000,
    version: 4,
    tokensBefore: 30_000,
    tokensAfter: 12_000,
    archived: 41,
    sequences: 5,
  },
  summary_ended: {
    type: 'summary_ended',
    ...scope,
    outcome: 'written',
    durationMs: 300,
    sourceTokens: 6_000,
    tokens: 900,
  },
  version_rejected: {
    type: 'version_rejected',
    ...scope,
    by: 'provider',
    version: 3,
    codes: ['invalid_request_error'],
    message: 'messages.3: no result',
    form: '{}',
  },
  lease_lost: { type: 'lease_lost', ...scope, what: 'turn', why: 'fenced' },
  worker_failed: { type: 'worker_failed', ...scope, where: 'sweeper', error: new Error('it broke') },
};
