import type { TurnFailure } from '../../src/domain/turn.ts';
import { TURN_LIMITS } from '../../src/domain/turn.ts';
import type { Finding } from './checks.ts';
import type { StoredConversation } from './read-database.ts';
import type { WorkerReports } from './worker-reports.ts';

export const UNEXPLAINED = 'a turn fails only by an injected fault';

type Claims = Pick<WorkerReports, 'wereLastClaimsHarmed' | 'describeClaims'>;

/** Returns why a failure is a defect of turnfold, or undefined. Codes without an entry come from the faulty provider. */
const EXPLANATIONS: Readonly<Record<string, (failed: FailedTurn) => string | undefined>> = {
  internal_error: ({ failure }) => `a defect: ${failure.message}`,
  poison: ({ key, claims }) =>
    claims.wereLastClaimsHarmed(key, TURN_LIMITS.maxAttempts)
      ? undefined
      : `poison, but not every one of its last claims ended by a kill, a lost lease or an outage (${claims.describeClaims(key)})`,
  budget_infeasible: ({ failure: { details = {} }, ownTokens }) => {
    const { fixed, pinned, open, floor, usable, upperBoundFactor } = details;
    const kept = [fixed, pinned, open, floor].map(Number).reduce((sum, part) => sum + part, 0);
    // The turn's own tokens are counted again from the log, because the failure's own figures may be wrong.
    const needed = Number(fixed) + Number(pinned) + ownTokens * Number(upperBoundFactor);
    return Math.min(kept, needed) > Number(usable)
      ? undefined
      : `budget_infeasible, but ${kept} protected tokens (${ownTokens} of the turn) fit into ${String(usable)}`;
  },
};

interface FailedTurn {
  readonly key: string;
  readonly failure: TurnFailure;
  /** Tokens of the turn's own messages in the log. */
  readonly ownTokens: number;
  readonly claims: Claims;
}

/** Finds failed turns that no injected fault explains. */
export function findUnexplained(
  conversations: readonly Pick<StoredConversation, 'id' | 'log' | 'turns'>[],
  claims: Claims,
): Finding[] {
  return conversations.flatMap(({ id, log, turns }) =>
    [...turns].flatMap(([turn, fields]) => {
      if (fields['failure'] === undefined) return [];
      const failure = JSON.parse(fields['failure']) as TurnFailure;
      const own = log.filter((entry) => entry.turn === turn);
      const ownTokens = own.reduce((sum, { tokens }) => sum + tokens, 0);
      const detail = EXPLANATIONS[failure.code]?.({ key: `${id}/${turn}`, failure, ownTokens, claims });
      return detail === undefined ? [] : [{ rule: UNEXPLAINED, conversation: id, detail: `${turn}: ${detail}` }];
    }),
  );
}
