import type { TurnView } from '../../api/client/index.ts';
import { fieldError } from '../../domain/errors.ts';
import type { ServedAgents } from './reading-tools.ts';
import type { NamedTurn } from './turn-progress.ts';

/**
 * Reads a turn that the client may answer or cancel: a turn of the agents that the server serves. Otherwise a coding
 * agent could approve calls of any agent of the tenant.
 * @throws access_denied for a turn of another agent
 */
export async function readServedTurn(
  { client, nameOf, agents }: ServedAgents,
  { conversation, turn }: NamedTurn,
): Promise<TurnView> {
  const view = await client.result(nameOf(conversation), turn);
  if (agents.includes(view.agent)) return view;
  const why = `the turn belongs to the agent ${view.agent}, and this server serves ${agents.join(', ')}. Add it to --agents`;
  throw fieldError('access_denied', 'turn', why);
}
