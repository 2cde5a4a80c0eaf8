import { ERROR_CODES } from '../../domain/errors.ts';
import { TOOL_OUTCOMES } from '../../domain/events.ts';
import { WAIT_KINDS } from '../../domain/turn.ts';
import { CALL_SECONDS, cross, type MetricSpec, ONE, TURN_SECONDS } from './metric-spec.ts';

const FAILURE_CODES = Object.entries(ERROR_CODES).flatMap(([code, whose]) => (whose === 'turn' ? [code] : []));

/** Do turns get through, and how fast? */
export const TURN_METRICS = {
  turns: {
    type: 'counter',
    name: 'turnfold_turns_total',
    help: 'Turns that workers settled, by outcome and by the code of the failure (none: completed).',
    labels: ['outcome', 'code'],
    start: [{ outcome: 'completed', code: 'none' }, ...cross({ outcome: ['failed'], code: FAILURE_CODES })],
  },
  turnDuration: {
    type: 'histogram',
    name: 'turnfold_turn_duration_seconds',
    help: 'Time from the acceptance of a turn, of a scheduled one from its time, to its settling, its waits included.',
    labels: ['outcome'],
    buckets: TURN_SECONDS,
    start: cross({ outcome: ['completed', 'failed'] }),
  },
  turnWait: {
    type: 'histogram',
    name: 'turnfold_turn_wait_seconds',
    help: 'Time from the acceptance of a turn, of a scheduled one from its time, to its first claim: also behind the turns before it.',
    labels: [],
    buckets: TURN_SECONDS,
    start: ONE,
  },
  turnReclaims: {
    type: 'counter',
    name: 'turnfold_turn_reclaims_total',
    help: 'Claims of turns whose last claim had no outcome: its worker died, froze or lost Redis. An orderly stop does not count.',
    labels: [],
    start: ONE,
  },
  turnSuspensions: {
    type: 'counter',
    name: 'turnfold_turn_suspensions_total',
    help: 'Suspensions of turns, by what the turn waits for.',
    labels: ['waits_for'],
    start: cross({ waits_for: WAIT_KINDS }),
  },
  turnSuspended: {
    type: 'histogram',
    name: 'turnfold_turn_suspended_seconds',
    help: 'Time from the suspension of a turn to the claim that goes on with it; for compaction: what hard passes cost turns.',
    labels: ['waits_for'],
    buckets: TURN_SECONDS,
    start: cross({ waits_for: WAIT_KINDS }),
  },
  toolCalls: {
    type: 'counter',
    name: 'turnfold_tool_calls_total',
    help: 'Answered tool calls, by outcome; all but done are error results.',
    labels: ['outcome'],
    start: cross({ outcome: TOOL_OUTCOMES }),
  },
  toolCallDuration: {
    type: 'histogram',
    name: 'turnfold_tool_call_duration_seconds',
    help: 'Time that tool calls took.',
    labels: [],
    buckets: CALL_SECONDS,
    start: ONE,
  },
} as const satisfies Record<string, MetricSpec>;
