import { explainInfeasible } from '../../compaction/budget.ts';
import { buildInSlices } from '../../compaction/context.ts';
import { Ladder } from '../../compaction/ladder.ts';
import type { ConversationRef } from '../../domain/ids.ts';
import { eventLoopShare } from '../../wire/tokens/event-loop-share.ts';
import { prepareAsLastTurn } from '../prepared-agent.ts';
import type { PassNeed, Recount } from '../turn/turn-ports.ts';
import { findFirstUser, planRequest } from './pass-snapshot.ts';
import type { CompactionPorts } from './pass-writes.ts';
import { readAccepted, summaryPolicy } from './sequence-summaries.ts';
import { tryPass } from './trial-pass.ts';

/** Counts what a pass could reach with the present summaries. A turn fails as too large only after this count (I14). */
export async function recountContext(
  { contexts, summaries, agents }: Pick<CompactionPorts, 'contexts' | 'summaries' | 'agents'>,
  conversation: ConversationRef,
  { reasons, refusedTokens }: PassNeed,
): Promise<Recount> {
  const state = await contexts.readConversation(conversation);
  const source = await contexts.readContext(conversation);
  const found = state && agents.find(state.agent);
  if (state === undefined || source === undefined || found === undefined) return { status: 'gone' };
  const prepared = { ...(await prepareAsLastTurn(contexts, conversation, found)) };
  const firstUserSeq = await findFirstUser(contexts, conversation, source.head);
  const context = await eventLoopShare.run(buildInSlices(source));
  const findings = { firstUserSeq, refusedTokens };
  const tried = await tryPass({
    prepared,
    state,
    source,
    context,
    ...findings,
    requested: reasons,
    complete: (plan) => readAccepted(summaries, conversation, plan, summaryPolicy(prepared.policy, state)),
  });
  switch (tried.kind) {
    case 'version':
    case 'no_reason':
      return { status: 'fits' };
    case 'infeasible':
      return { status: 'too_large', details: tried.details, rules: [] };
    default: {
      const rules = tried.kind === 'refused' ? tried.refusal.codes : [];
      const request = planRequest(prepared, context, reasons, findings);
      const details = explainInfeasible(request, await eventLoopShare.run(new Ladder(request).layOut()));
      return { status: 'too_large', details, rules };
    }
  }
}
