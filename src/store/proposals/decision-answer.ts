import type { DecisionAnswer } from '../../domain/ports/proposal-store.ts';
import type { ApprovalRefusal } from '../../domain/proposal.ts';

/** As `lua/shared/review.lua` keeps it: how the pass ended and the live version then, or the refusal as JSON. */
export function decodeDecisionAnswer(text: string): DecisionAnswer {
  const [kind = '', ...rest] = text.split(' ');
  switch (kind) {
    case 'refused':
      return { status: 'refused', refusal: JSON.parse(rest.join(' ')) as ApprovalRefusal };
    case 'approved':
      return { status: 'approved', version: Number(rest[0]) };
    case 'rejected':
      return { status: 'rejected' };
    default:
      return { status: 'superseded' };
  }
}
