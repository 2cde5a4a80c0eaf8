import '../version/version.css';
import '../diff/diff.css';
import './proposal.css';
import { ChangeList } from '../diff/change-list.tsx';
import { EmptyState } from '../parts/empty-state.tsx';
import { counted, exactNumber, Time, Tokens } from '../parts/figures.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { Tag } from '../parts/tag.tsx';
import { useLiveAnswer } from '../shell/live-conversation.ts';
import { linkTo } from '../shell/router.ts';
import { Fact } from '../version/version-facts.tsx';
import { ProposalForm } from './proposal-form.tsx';
import type { Proposal, Proposals } from './proposals.ts';

export function ProposalPanel({ conversation }: { readonly conversation: string }) {
  const proposals = useLiveAnswer<Proposals>(['conversations', conversation, 'proposals']);
  return (
    <Loaded answer={proposals} what="the proposal">
      {({ proposals: [proposal] }) =>
        proposal === undefined ? (
          <EmptyState title="No compaction waits for a decision">
            Under <code>mode: review</code>, soft compactions wait here.{' '}
            <a href={linkTo('c', conversation, 'versions')}>Versions</a> shows those that were made.
          </EmptyState>
        ) : (
          <ShownProposal
            key={proposal.proposal}
            conversation={conversation}
            proposal={proposal}
            reload={proposals.reload}
          />
        )
      }
    </Loaded>
  );
}

interface ShownProposalProps {
  readonly conversation: string;
  readonly proposal: Proposal;
  readonly reload: () => void;
}

function ShownProposal({ conversation, proposal, reload }: ShownProposalProps) {
  const { reasons, strategy, over, head, tokensBefore, tokensAfter, archived, explained } = proposal;
  return (
    <div class="proposal">
      <header class="panel-head">
        <h2>Proposed compaction</h2>
        {proposal.isDecided && <Tag tone="note">decided, waiting for a worker</Tag>}
      </header>
      <div class="card facts-card">
        <dl class="facts">
          <Fact name="Over">
            version {over}, up to message {exactNumber(head)}
          </Fact>
          <Fact name="How">
            <Tag>{strategy}</Tag>
            {reasons.map((reason) => (
              <Tag key={reason} tone="accent">
                {reason.replaceAll('_', ' ')}
              </Tag>
            ))}
          </Fact>
          <Fact name="Tokens">
            <Tokens value={tokensBefore} /> → <Tokens value={tokensAfter} />
          </Fact>
          <Fact name="Archives">
            <span class="number">{counted(archived, 'message')}</span>
          </Fact>
          <Fact name="Made">
            <Time at={proposal.proposedAt} />
          </Fact>
          <Fact name="Expires">
            <Time at={proposal.expiresAt} />
          </Fact>
          {explained.length > 0 && <Fact name="Explained">{explained.join(', ').replaceAll('_', ' ')}</Fact>}
        </dl>
      </div>
      <ProposalForm conversation={conversation} proposal={proposal} reload={reload} />
      <ChangeList conversation={conversation} changes={proposal.changes} />
    </div>
  );
}

export function ProposalNote({ conversation }: { readonly conversation: string }) {
  const { value } = useLiveAnswer<Proposals>(['conversations', conversation, 'proposals']);
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
