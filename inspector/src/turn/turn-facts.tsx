import type { TurnStepsAnswer } from '../../../src/api/contract/turn-steps.ts';
import { CopyButton } from '../parts/copy-button.tsx';
import { exactNumber, shortDuration, Time, Tokens, Usage } from '../parts/figures.tsx';
import { Tag, type Tone } from '../parts/tag.tsx';
import type { ShownTurn } from '../shell/answers.ts';
import { linkTo } from '../shell/router.ts';
import { Fact } from '../version/version-facts.tsx';

export const STATE_TONES: Readonly<Record<ShownTurn['state'], Tone>> = {
  scheduled: 'plain',
  queued: 'plain',
  running: 'accent',
  waiting: 'warn',
  completed: 'good',
  failed: 'bad',
  canceled: 'plain',
};

interface TurnFactsProps {
  readonly conversation: string;
  readonly turn: ShownTurn;
  readonly steps: TurnStepsAnswer | undefined;
}

export function TurnFacts({ conversation, turn, steps }: TurnFactsProps) {
  const { state, acceptedAt, settledAt, usage, requestTokens, inputSeq, redriveOf, redrivenAs, answer, stopped } = turn;
  const link = (id: string) => <a href={linkTo('c', conversation, 't', id)}>{id}</a>;
  const peak = requestTokens.reduce((most, tokens) => Math.max(most, tokens), 0);
  return (
    <>
      <header class="panel-head">
        <h2 class="turn-name">
          Turn <span class="mono">{turn.turn}</span>
        </h2>
        <CopyButton text={turn.turn} what="the turn id" />
        <Tag tone={STATE_TONES[state]}>{state}</Tag>
        {answer?.end !== undefined && <Tag tone="warn">{answer.end.replace('_', ' ')}</Tag>}
        {stopped !== undefined && <Tag tone="warn">stopped</Tag>}
      </header>
      <div class="card facts-card">
        <dl class="facts">
          <Fact name="Accepted">
            <Time at={acceptedAt} />
          </Fact>
          {settledAt !== undefined && (
            <Fact name="Settled">
              <Time at={settledAt} /> <span class="soft">after {shortDuration(settledAt - acceptedAt)}</span>
            </Fact>
          )}
          {inputSeq !== undefined && <Fact name="Input">message {exactNumber(inputSeq)}</Fact>}
          {stopped !== undefined && <Fact name="Stopped">message {exactNumber(stopped.seq)}</Fact>}
          <Fact name="Requests">
            <span class="number">{exactNumber(requestTokens.length)}</span>
            {peak > 0 && (
              <span class="soft">
                {' '}
                of at most <Tokens value={peak} unit=" tokens" />
              </span>
            )}
          </Fact>
          {usage !== undefined && (
            <Fact name="Usage">
              <Usage {...usage} microdollars={usage.costMicros} />
            </Fact>
          )}
          {steps?.claim !== undefined && <Claim claim={steps.claim} />}
          {redriveOf !== undefined && <Fact name="Repeats">{link(redriveOf)}</Fact>}
          {redrivenAs !== undefined && <Fact name="Repeated as">{link(redrivenAs)}</Fact>}
        </dl>
      </div>
    </>
  );
}

function Claim({ claim }: { readonly claim: NonNullable<TurnStepsAnswer['claim']> }) {
  const { attempts, leaseUntil } = claim;
  const leftMs = leaseUntil === undefined ? 0 : leaseUntil - Date.now();
  return (
    <>
      <Fact name="Attempt">
        <span class="number">{attempts}</span>
      </Fact>
      {leaseUntil !== undefined && (
        <Fact name="Lease">{leftMs > 0 ? `${shortDuration(leftMs)} left` : 'has lapsed'}</Fact>
      )}
    </>
  );
}
