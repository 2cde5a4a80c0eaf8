import type { TurnFailure } from '../../src/domain/turn.ts';
import { TURN_LIMITS } from '../../src/domain/turn.ts';
import type { Finding } from './checks.ts';
import type { StoredConversation } from './read-database.ts';
import type { Tellings } from './tellings.ts';

export const UNEXPLAINED = 'a turn fails only for what was done to it';

/** What must hold of a failed turn so that its code is no defect of ours. Other codes are the provider's doing. */
const EXPLANATIONS: Readonly<Record<string, (failed: FailedTurn) => string | undefined>> = {
  poison: ({ key, tellings }) =>
    tellings.wereLastClaimsHarmed(key, TURN_LIMITS.maxAttempts)
      ? undefined
      : `poison, though its last claims did not all end by a kill or a lost lease (${tellings.describeClaims(key)})`,
  budget_infeasible: ({ failure: { details = {} }, ownTokens }) => {
    const { fixed, pinned, open, floor, usable, upperBoundFactor } = details;
    const kept = [fixed, pinned, open, floor].map(Number).reduce((sum, part) => sum + part, 0);
    // Counted from the log as well: the code must not be its own witness.
    const needed = Number(fixed) + Number(pinned) + ownTokens * Number(upperBoundFactor);
    return Math.min(kept, needed) > Number(usable)
      ? undefined
      : `budget_infeasible with ${kept} tokens to be kept, ${ownTokens} of them its own, and ${String(usable)} usable`;
  },
};

interface FailedTurn {
  readonly key: string;
  readonly failure: TurnFailure;
  /** tokens of the messages that the turn itself brought into the log */
  readonly ownTokens: number;
  readonly tellings: Pick<Tellings, 'wereLastClaimsHarmed' | 'describeClaims'>;
}

/** Failed turns that the harm of the run does not explain. */
export function findUnexplained(
  conversations: readonly Pick<StoredConversation, 'id' | 'log' | 'turns'>[],
  tellings: Pick<Tellings, 'wereLastClaimsHarmed' | 'describeClaims'>,
): Finding[] {
  return conversations.flatMap(({ id, log, turns }) =>
    [...turns].flatMap(([turn, fields]) => {
      if (fields['failure'] === undefined) return [];
      const failure = JSON.parse(fields['failure']) as TurnFailure;
      const own = log.filter((entry) => entry.turn === turn);
      const ownTokens = own.reduce((sum, { tokens }) => sum + tokens, 0);
      const detail = EXPLANATIONS[failure.code]?.({ key: `${id}/${turn}`, failure, ownTokens, tellings });
      return detail === undefined ? [] : [{ rule: UNEXPLAINED, conversation: id, detail: `${turn}: ${detail}` }];
    }),
  );
}
