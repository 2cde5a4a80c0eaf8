import { proposalEvent } from '../../domain/event-record.ts';
import type { PassLease, PassLost, VersionProposal, VersionProposalResult } from '../../domain/ports/pass-store.ts';
import type { Keyspace } from '../keys.ts';
import type { ScriptDefinition } from '../script.ts';

interface ProposeRequest {
  readonly lease: PassLease;
  readonly proposal: VersionProposal;
}

type Reply = ['proposed' | 'reasons_added' | PassLost['status']] | ['version_changed', number];

export function proposeVersion(keyspace: Keyspace): ScriptDefinition<ProposeRequest, VersionProposalResult> {
  return {
    file: 'propose-version',
    keys: ({ lease }) => keyspace.conversation(lease.conversation),
    args: ({ lease, proposal: { proposal, seenReasons, reviewMs } }) => [
      lease.passId,
      lease.owner,
      seenReasons.join(','),
      proposal.version.number - 1,
      proposal.id,
      JSON.stringify(proposal),
      reviewMs,
      ...Object.entries(proposalEvent(lease.passId, proposal)).flat(),
    ],
    decode: (reply) => {
      const answer = reply as Reply;
      if (answer[0] === 'version_changed') return { status: 'version_changed', version: answer[1] };
      return { status: answer[0] };
    },
  };
}
