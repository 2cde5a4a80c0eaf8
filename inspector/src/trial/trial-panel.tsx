import '../version/version.css';
import './trial.css';
import { useMemo, useState } from 'preact/hooks';
import type { BreakdownAnswer } from '../../../src/api/contract/inspection-answers.ts';
import { EmptyState } from '../parts/empty-state.tsx';
import { ErrorNote } from '../parts/error-note.tsx';
import { Loaded } from '../parts/loaded.tsx';
import type { Conversation } from '../shell/answers.ts';
import { pathOf } from '../shell/client.ts';
import { useConversation } from '../shell/live-conversation.ts';
import { useAnswer } from '../shell/use-answer.ts';
import { PlanView } from './plan-view.tsx';
import { PolicyFile } from './policy-file.tsx';
import { firstTrial, type TrialPolicy } from './policy-yaml.ts';
import { TrialControls } from './trial-controls.tsx';
import { useDryRun } from './use-dry-run.ts';
import { useOutline } from './use-outline.ts';

/** Shows the next compaction under another policy. Nothing is changed. */
export function TrialPanel({ conversation }: { readonly conversation: string }) {
  const state = useConversation().description;
  const breakdown = useAnswer<BreakdownAnswer>(pathOf('conversations', conversation, 'breakdown'));
  return (
    <Loaded answer={breakdown} what="the context">
      {(value) =>
        value.head === 0 ? (
          <EmptyState title="The conversation has no messages" />
        ) : (
          <Trial conversation={conversation} state={state} breakdown={value} />
        )
      }
    </Loaded>
  );
}

interface TrialProps {
  readonly conversation: string;
  readonly state: Conversation | undefined;
  readonly breakdown: BreakdownAnswer;
}

function Trial({ conversation, state, breakdown }: TrialProps) {
  const [changes, setChanges] = useState<Partial<TrialPolicy>>({});
  const first = useMemo(() => firstTrial(breakdown.policy ?? {}, firstBudget(breakdown)), [conversation]);
  const policy: TrialPolicy = { ...first, ...changes };
  const outline = useOutline(conversation, state?.head, state?.size.version);
  const run = useDryRun(conversation, policy, state);
  return (
    <div class="trial">
      <header class="panel-head">
        <h2>What would the next compaction do?</h2>
        <p class="soft">A trial changes nothing. Move a control, and the plan follows.</p>
      </header>
      <div class="trial-columns">
        <div class="trial-side">
          <TrialControls
            policy={policy}
            usedTokens={breakdown.window.usedTokens}
            messages={state?.head ?? 0}
            error={run.error}
            onChange={(more) => setChanges({ ...changes, ...more })}
          />
          <PolicyFile policy={policy} settings={breakdown.policy ?? {}} />
        </div>
        <div class="trial-plan">
          {run.error !== undefined && <ErrorNote error={run.error} />}
          {outline.error !== undefined && <ErrorNote error={outline.error} />}
          {run.plan !== undefined && (
            <PlanView conversation={conversation} plan={run.plan} run={run} policy={policy} outline={outline} />
          )}
        </div>
      </div>
    </div>
  );
}

/** The budget of the policy in use, if a worker has recorded it. Else half of the present context. */
function firstBudget({ thresholds, window: { usedTokens } }: BreakdownAnswer): number {
  const known = thresholds.find(({ name }) => name === 'maxTokens')?.tokens;
  return known ?? Math.max(100, Math.round(usedTokens / 200) * 100);
}
