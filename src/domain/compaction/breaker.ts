import { type Gate, OPEN_GATE } from '../conversation.ts';
import { PASS_LIMITS, type PassOutcome } from '../pass.ts';
import type { PassHold } from '../pass-events.ts';

/** Whether a soft pass is not worth asking for: nothing was to be done at this size, or three passes in a row gained too little. */
export function isGateShut(gate: Gate, tokens: number): boolean {
  return findHold(gate, tokens) !== undefined;
}

/** What shuts the gate; undefined where it is open. */
export function findHold({ breakerTokens, shutBelowTokens }: Gate, tokens: number): PassHold | undefined {
  if (tokens < breakerTokens) return 'breaker_open';
  return tokens < shutBelowTokens ? 'gate_shut' : undefined;
}

interface LookedAt {
  /** size of the context */
  readonly tokens: number;
  /** the same without what a request holds besides messages */
  readonly messageTokens: number;
  readonly calibration: number;
  readonly hardTokens?: number | undefined;
}

/** The gate with the size below which an append need not ask for a pass. Hard reasons do not mind what shuts it. */
export function shutForAppends(gate: Gate, looked: LookedAt): Gate {
  const softTokens = Math.max(gate.shutBelowTokens, gate.breakerTokens);
  if (softTokens === 0) return gate;
  const { tokens, messageTokens, calibration } = looked;
  const growth = nextLook(softTokens, looked) - tokens;
  return { ...gate, shutBelowMessageTokens: messageTokens + Math.floor(growth / calibration) };
}

/** The size from which to look again: where the gate opens or, if that comes first, at a hard limit not reached yet. */
function nextLook(softTokens: number, { tokens, hardTokens = 0 }: LookedAt): number {
  if (softTokens <= tokens) return tokens;
  return hardTokens > tokens ? Math.min(softTokens, hardTokens) : softTokens;
}

/**
 * The gate after a pass.
 * @param tokens size of the context when it ended
 * @param stepTokens growth that may make a difference: `minSequenceTokens`
 */
export function nextGate(gate: Gate, outcome: PassOutcome, tokens: number, stepTokens: number): Gate {
  const shutBelowTokens = tokens + Math.max(1, stepTokens);
  switch (outcome.kind) {
    case 'committed':
    case 'approved':
      return OPEN_GATE;
    case 'failed':
    case 'thinking':
      return gate;
    case 'rejected':
    case 'expired':
      // The same content would be proposed again: as after a restore, it has to grow first.
      return { ...gate, breakerTokens: Math.ceil(tokens * PASS_LIMITS.breakerGrowth) };
    case 'no_reason':
    case 'none':
    case 'infeasible':
      // Neither is a pass without gain: it does not count for the breaker, and it does not reset it.
      return { ...gate, shutBelowTokens };
    case 'no_gain': {
      const gainlessPasses = gate.gainlessPasses + 1;
      const isOpened = gainlessPasses >= PASS_LIMITS.breakerPasses;
      const breakerTokens = isOpened ? Math.ceil(tokens * PASS_LIMITS.breakerGrowth) : gate.breakerTokens;
      return { shutBelowTokens, gainlessPasses, breakerTokens };
    }
  }
}
