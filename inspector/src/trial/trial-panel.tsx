import '../version/version.css';
import './trial.css';
import { useEffect, useId, useMemo, useState } from 'preact/hooks';
import type { BreakdownAnswer } from '../../../src/api/contract/inspection.ts';
import { CopyButton } from '../parts/copy-button.tsx';
import { EmptyState } from '../parts/empty-state.tsx';
import { ErrorNote } from '../parts/error-note.tsx';
import { Loaded } from '../parts/loaded.tsx';
import type { Conversation } from '../shell/answers.ts';
import type { TurnfoldError } from '../shell/client.ts';
import { useConversation } from '../shell/live-conversation.ts';
import { useAnswer } from '../shell/use-answer.ts';
import { PlanView } from './plan-view.tsx';
import { type AgentSettings, firstTrial, type TrialPolicy, writePolicyYaml } from './policy-yaml.ts';
import { useDryRun } from './use-dry-run.ts';
import { useOutline } from './use-outline.ts';

export function TrialPanel({ conversation }: { readonly conversation: string }) {
  const state = useConversation().description;
  const breakdown = useAnswer<BreakdownAnswer>(['conversations', conversation, 'breakdown']);
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

/** Returns the recorded budget of the policy, or else half of the present context. */
function firstBudget({ thresholds, window: { usedTokens } }: BreakdownAnswer): number {
  const known = thresholds.find(({ name }) => name === 'maxTokens')?.tokens;
  return known ?? Math.max(100, Math.round(usedTokens / 200) * 100);
}

interface TrialControlsProps {
  readonly policy: TrialPolicy;
  readonly usedTokens: number;
  readonly messages: number;
  readonly error: TurnfoldError | undefined;
  readonly onChange: (changes: Partial<TrialPolicy>) => void;
}

const SCOPES: Readonly<Record<TrialPolicy['scope'], string>> = {
  sequences: 'a summary for each run between user messages, which stay',
  prefix: 'one summary for everything old',
};

const MAX_WINDOW = 200;

function TrialControls({ policy, usedTokens, messages, error, onChange }: TrialControlsProps) {
  const most = Math.max(1_000, Math.ceil((usedTokens * 1.25) / 1_000) * 1_000);
  const faultOf = (...fields: readonly string[]): string | undefined =>
    error?.field !== undefined && fields.includes(error.field) ? error.message : undefined;
  return (
    <form class="card controls" aria-label="Policy" onSubmit={(event) => event.preventDefault()}>
      <Slider
        label="Budget"
        hint="The compaction aims for this size."
        unit="tokens"
        value={policy.maxTokens}
        min={Math.min(200, most)}
        max={most}
        step={most > 20_000 ? 100 : 10}
        error={faultOf('maxTokens', 'policy.maxTokens', 'max_tokens')}
        onChange={(maxTokens) => onChange({ maxTokens })}
      />
      <Slider
        label="Retention"
        hint="Number of newest messages that stay unchanged."
        unit="messages"
        value={policy.retentionWindow}
        min={0}
        max={Math.min(MAX_WINDOW, Math.max(10, messages))}
        step={1}
        error={faultOf('retentionWindow', 'policy.retentionWindow')}
        onChange={(retentionWindow) => onChange({ retentionWindow })}
      />
      <label class="choice">
        <input
          type="checkbox"
          checked={policy.maskToolResults}
          onChange={({ currentTarget }) => onChange({ maskToolResults: currentTarget.checked })}
        />
        Mask old tool results before anything is summarized
      </label>
      <label class="choice">
        <input
          type="checkbox"
          checked={policy.keepFirstUser}
          onChange={({ currentTarget }) => onChange({ keepFirstUser: currentTarget.checked })}
        />
        Keep the first user message
      </label>
      <fieldset class="choices choices-column">
        <legend>Scope</legend>
        {(Object.keys(SCOPES) as TrialPolicy['scope'][]).map((scope) => (
          <label key={scope} class="choice">
            <input type="radio" name="scope" checked={policy.scope === scope} onChange={() => onChange({ scope })} />
            <span>
              <code>{scope}</code> <span class="soft">{SCOPES[scope]}</span>
            </span>
          </label>
        ))}
      </fieldset>
    </form>
  );
}

interface SliderProps {
  readonly label: string;
  readonly hint: string;
  readonly unit: string;
  readonly value: number;
  readonly min: number;
  readonly max: number;
  readonly step: number;
  readonly error: string | undefined;
  readonly onChange: (value: number) => void;
}

/** The number field accepts numbers beyond the range of the slider, too. */
function Slider({ label, hint, unit, value, min, max, step, error, onChange }: SliderProps) {
  const [field, note] = [useId(), useId()];
  const take = (text: string): void => {
    const number = Number(text);
    if (text.trim() !== '' && Number.isInteger(number) && number >= 0) onChange(number);
  };
  return (
    <div class="control">
      <div class="control-head">
        <label for={field}>{label}</label>
        <span class="control-number">
          <input
            id={field}
            type="number"
            inputMode="numeric"
            min={0}
            step={1}
            value={value}
            aria-describedby={note}
            aria-invalid={error !== undefined}
            onInput={({ currentTarget }) => take(currentTarget.value)}
          />
          <span class="soft">{unit}</span>
        </span>
      </div>
      <input
        type="range"
        class="slider"
        min={min}
        max={max}
        step={step}
        value={value}
        aria-label={`${label}, slider`}
        onInput={({ currentTarget }) => take(currentTarget.value)}
      />
      <p id={note} class={error === undefined ? 'hint' : 'field-error'}>
        {error ?? hint}
      </p>
    </div>
  );
}

function PolicyFile({ policy, settings }: { readonly policy: TrialPolicy; readonly settings: AgentSettings }) {
  const yaml = writePolicyYaml(policy, settings);
  const address = useMemo(() => URL.createObjectURL(new Blob([yaml], { type: 'application/yaml' })), [yaml]);
  useEffect(() => () => URL.revokeObjectURL(address), [address]);
  return (
    <section class="card policy-file" aria-label="Policy file">
      <div class="column-head">
        <h3>policy.yaml</h3>
        <span class="policy-actions">
          <a class="button" href={address} download="policy.yaml">
            Download
          </a>
          <CopyButton text={yaml} what="the policy" />
        </span>
      </div>
      <pre class="policy-text" role="region" aria-label="policy.yaml" tabIndex={0}>
        {yaml}
      </pre>
      <p class="hint">
        Measure it on recorded conversations with <code>turnfold replay talks.jsonl --policy policy.yaml</code>, and use
        it with <code>turnfold worker --policy policy.yaml</code>. Pins and the summarizer stay as the agent has them.
      </p>
    </section>
  );
}
