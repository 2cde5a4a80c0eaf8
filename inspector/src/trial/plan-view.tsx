import { useMemo, useState } from 'preact/hooks';
import { exactNumber, exactRange, shortDuration, shortTokens, Tokens } from '../parts/figures.tsx';
import { Tag, type Tone } from '../parts/tag.tsx';
import { SourceDialog } from '../version/source-list.tsx';
import { PLAN_ACTIONS, type PlanAction, planRuns, presentRuns, type Run, sumRuns } from './plan-strip.ts';
import type { TrialPolicy } from './policy-yaml.ts';
import { Strip } from './strip.tsx';
import type { DryRun, Plan } from './use-dry-run.ts';
import type { WholeOutline } from './use-outline.ts';

interface PlanViewProps {
  readonly conversation: string;
  readonly plan: Plan;
  readonly run: DryRun;
  readonly policy: TrialPolicy;
  readonly outline: WholeOutline;
}

const NAMES: Readonly<Record<PlanAction, string>> = {
  protect: 'Protected',
  keep: 'Kept',
  mask: 'Masked or clipped',
  summarize: 'Summarized',
  evict: 'Evicted',
  gone: 'Left before',
};

const tokensOf = ({ tokens }: { readonly tokens: number }): number => tokens;

export function PlanView({ conversation, plan, run, policy, outline }: PlanViewProps) {
  const [isWhole, setIsWhole] = useState(false);
  const [opened, setOpened] = useState<Run>();
  const runs = useMemo(() => planRuns(outline.entries, plan), [outline.entries, plan]);
  const before = useMemo(() => presentRuns(outline.entries, runs, isWhole), [outline.entries, runs, isWhole]);
  const sums = useMemo(() => sumRuns(runs), [runs]);
  const isDrawn = ({ kind }: Run): boolean => isWhole || kind !== 'gone';
  const summary = PLAN_ACTIONS.flatMap((kind) => {
    const sum = sums.get(kind);
    return sum === undefined ? [] : [`${NAMES[kind].toLowerCase()} ${exactNumber(sum.messages)}`];
  }).join(', ');
  const hasGone = sums.has('gone');
  return (
    <>
      <PlanHead plan={plan} run={run} policy={policy} />
      <section class={`card plan-strips${run.isRunning ? ' is-stale' : ''}`} aria-label="The log before and after">
        <Strip name="Now" summary="the context as it is" runs={before} weigh={tokensOf} />
        <Strip name="Would be" summary={summary} runs={runs.filter(isDrawn)} weigh={tokensOf} />
        {!outline.isWhole && (
          <p class="hint" role="status">
            Reading the log: {exactNumber(outline.entries.length)} messages so far.
          </p>
        )}
        <ul class="plan-sums">
          {PLAN_ACTIONS.filter((kind) => sums.has(kind)).map((kind) => (
            <li key={kind}>
              <span class={`legend-key fate-${kind}`} aria-hidden="true" />
              <span>{NAMES[kind]}</span>
              <strong class="number">{exactNumber(sums.get(kind)?.messages ?? 0)}</strong>
              <span class="soft number">{shortTokens(sums.get(kind)?.tokens ?? 0)} tokens</span>
            </li>
          ))}
        </ul>
        {hasGone && (
          <label class="choice">
            <input
              type="checkbox"
              checked={isWhole}
              onChange={({ currentTarget }) => setIsWhole(currentTarget.checked)}
            />
            Show messages that an earlier compaction removed
          </label>
        )}
      </section>
      <ChangedRuns runs={runs} outline={outline} onOpen={setOpened} />
      {opened !== undefined && (
        <SourceDialog conversation={conversation} range={opened} onClose={() => setOpened(undefined)} />
      )}
    </>
  );
}

const KINDS: Readonly<Record<string, readonly [tone: Tone, text: string]>> = {
  none: ['plain', 'nothing to do'],
  trim: ['accent', 'trim'],
  summarize: ['note', 'summarize'],
  evict: ['warn', 'evict'],
  infeasible: ['bad', 'does not fit'],
};

function PlanHead({ plan, run, policy }: Pick<PlanViewProps, 'plan' | 'run' | 'policy'>) {
  const [tone, text] = KINDS[plan.kind] ?? ['plain', plan.kind];
  const after = plan.kind === 'none' ? plan.tokens : plan.tokensAfter;
  const isOver = after > policy.maxTokens;
  return (
    <div class="plan-head">
      <p class="plan-size">
        <Tokens value={plan.tokens} /> <span aria-label="becomes">→</span> <Tokens value={after} unit=" tokens" />
      </p>
      <Tag tone={tone}>{text}</Tag>
      {isOver && <Tag tone="warn">over the budget of {shortTokens(policy.maxTokens)}</Tag>}
      <p class="soft number plan-time" role="status">
        {run.isRunning ? 'Planning…' : `planned in ${shortDuration(run.tookMs)}, estimated`}
      </p>
    </div>
  );
}

interface ChangedRunsProps {
  readonly runs: readonly Run[];
  readonly outline: WholeOutline;
  readonly onOpen: (run: Run) => void;
}

const FIRST = 40;

function ChangedRuns({ runs, outline, onOpen }: ChangedRunsProps) {
  const changed = runs.filter(({ kind }) => kind === 'summarize' || kind === 'evict' || kind === 'mask');
  const starts = useMemo(() => new Map(outline.entries.map(({ seq, start }) => [seq, start])), [outline.entries]);
  if (changed.length === 0) return <p class="soft">No message would change.</p>;
  return (
    <section class="card changed-runs" aria-label="Ranges that would change">
      <ul>
        {changed.slice(0, FIRST).map((run) => (
          <li key={run.from}>
            <button type="button" class="run-row" title="Show these messages" onClick={() => onOpen(run)}>
              <span class={`legend-key fate-${run.kind}`} aria-hidden="true" />
              <span class="run-name">{NAMES[run.kind]}</span>
              <span class="number run-range">{exactRange(run)}</span>
              <span class="number soft run-tokens">{shortTokens(run.tokens)}</span>
              <bdi class="one-line soft run-start">{starts.get(run.from)}</bdi>
            </button>
          </li>
        ))}
      </ul>
      {changed.length > FIRST && (
        <p class="hint">and {exactNumber(changed.length - FIRST)} more ranges, which the strip shows</p>
      )}
    </section>
  );
}
