import type { BudgetInfeasible } from '../../domain/compaction/budget.ts';
import { TurnfoldError } from '../../domain/errors.ts';

type Part = 'fixed' | 'pinned' | 'open' | 'floor';

const NAMES: Readonly<Record<Part, string>> = {
  fixed: 'system prompt and framing',
  pinned: 'pinned',
  open: 'last user message, open rounds and unread results',
  floor: 'retention window and first user message',
};

const ADVICE: Readonly<Record<Part, string>> = {
  fixed: 'shorten the system prompt',
  pinned: 'shorten the pins of the policy, or unpin a message',
  open: 'shorten the last user message, or the calls and results behind it',
  floor: 'lower retentionWindow',
};

/** Says why no context within the budget exists, with the sum, and what to change. */
export function infeasibleError(details: BudgetInfeasible): TurnfoldError {
  const { fixed, pinned, open, floor, max, bytes } = details;
  const parts = (Object.entries({ fixed, pinned, open, floor }) as [Part, number][]).filter(([, size]) => size > 0);
  const total = fixed + pinned + open + floor;
  const sum = `${parts.map(([part, size]) => `${NAMES[part]} ${size}`).join(' + ')} = ${total} tokens`;
  const [largest = 'open'] = parts.toSorted(([, a], [, b]) => b - a).map(([part]) => part);
  const sizes = [
    ...(total > max ? [`${sum} cannot become less than maxTokens ${max}`] : []),
    ...(bytes === undefined ? [] : [`${bytes.left} bytes of at most ${bytes.max} stay`]),
  ];
  const raise = total > max ? `raise maxTokens to at least ${total}, or ` : '';
  return new TurnfoldError('budget_infeasible', `${sizes.join('; ') || sum}: ${raise}${ADVICE[largest]}`, {
    details: { ...details, advice: `${raise}${ADVICE[largest]}` },
  });
}
