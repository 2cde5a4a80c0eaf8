import { z } from 'zod';
import type { DecisionAnswer } from '../../domain/ports/proposal-store.ts';
import type { ApprovalRefusal } from '../../domain/proposal.ts';
import { corruptRecord } from '../corrupt-record.ts';
import { readJson } from '../record-fields.ts';

const refusalSchema: z.ZodType<ApprovalRefusal> = z.object({
  code: z.enum(['invalid_input', 'proposal_stale', 'conversation_busy']),
  field: z.string(),
  message: z.string(),
});

/**
 * As `lua/shared/review.lua` keeps it: how the pass ended and the live version then, or the refusal as JSON.
 * @param key where it lies
 */
export function decodeDecisionAnswer(text: string, key: string): DecisionAnswer {
  const [kind = '', ...rest] = text.split(' ');
  switch (kind) {
    case 'refused':
      return { status: 'refused', refusal: readJson({ key, field: '' }, rest.join(' '), refusalSchema) };
    case 'approved': {
      const version = Number(rest[0]);
      if (!Number.isSafeInteger(version)) throw corruptRecord(key, '', 'it must name a version');
      return { status: 'approved', version };
    }
    case 'rejected':
      return { status: 'rejected' };
    default:
      return { status: 'superseded' };
  }
}
