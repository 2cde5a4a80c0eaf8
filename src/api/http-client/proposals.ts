import { z } from 'zod';
import { idSchema } from '../../domain/ids.ts';
import { parseInput } from '../../domain/parse.ts';
import { waitSchema } from '../client/follow-options.ts';
import type { ApprovalInput, ConversationName, DecisionView, ProposalView, RejectionInput } from '../client/index.ts';
import { addTenant, callOf, newId, readCalled, writeBody } from './requests.ts';
import type { Transport } from './transport.ts';
import { askUntil } from './turns.ts';

export async function readProposal(transport: Transport, name: ConversationName): Promise<ProposalView | undefined> {
  const call = callOf(readCalled(name), 'GET', 'proposals');
  const { body, tenant } = await transport.send<{ proposals: ProposalView[] }>(call);
  const [proposal] = body.proposals;
  return proposal === undefined ? undefined : addTenant(proposal, tenant);
}

const decisionSchema = z.looseObject({ operation: idSchema.optional(), waitMs: waitSchema.optional() });

interface Decision {
  readonly verdict: 'approve' | 'reject';
  readonly proposal: string;
  readonly input: ApprovalInput | RejectionInput | undefined;
}

/** Decides on a proposal. A repeated request with the same operation returns the outcome of the decision so far. */
export async function decideProposal(
  transport: Transport,
  name: ConversationName,
  { verdict, proposal, input = {} }: Decision,
): Promise<DecisionView> {
  const call = callOf(readCalled(name), 'POST', 'proposals', parseInput(idSchema, proposal, 'proposal'), verdict);
  const { operation = newId(), waitMs = 0, ...rest } = parseInput(decisionSchema, input);
  const write = { field: 'operation', id: operation } as const;
  return await askUntil(waitMs, undefined, async (askedMs) => {
    const body = writeBody({ ...rest, operation, waitMs: askedMs });
    const answer = await transport.send<DecisionView>({ ...call, body, waitMs: askedMs, write });
    return { answer: answer.body, isFinal: answer.body.state !== 'pending' };
  });
}
