import { Tokens } from '../parts/figures.tsx';
import { pathOf } from '../shell/client.ts';
import { linkTo } from '../shell/router.ts';
import { useLiveAnswer } from '../version/use-live-answer.ts';
import type { Proposals } from './proposals.ts';

/** Says that a compaction waits for a decision, if one does. */
export function ProposalNote({ conversation }: { readonly conversation: string }) {
  const { value } = useLiveAnswer<Proposals>(pathOf('conversations', conversation, 'proposals'));
  const [proposal] = value?.proposals ?? [];
  if (proposal === undefined) return null;
  return (
    <div class="note" role="status">
      <p>
        A compaction waits for a decision: <Tokens value={proposal.tokensBefore} /> →{' '}
        <Tokens value={proposal.tokensAfter} unit=" tokens" />.
      </p>
      <a class="button" href={linkTo('c', conversation, 'proposal')}>
        Look at the proposal
      </a>
    </div>
  );
}
