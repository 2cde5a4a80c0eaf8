import type { AnswerError } from '../shell/client.ts';
import type { TrialPolicy } from './policy-yaml.ts';
import { Slider } from './slider.tsx';

export interface TrialControlsProps {
  readonly policy: TrialPolicy;
  /** Tokens of the present context, from which the range of the budget follows. */
  readonly usedTokens: number;
  readonly messages: number;
  readonly error: AnswerError | undefined;
  readonly onChange: (changes: Partial<TrialPolicy>) => void;
}

const SCOPES: Readonly<Record<TrialPolicy['scope'], string>> = {
  sequences: 'a summary for each run between user messages, which stay',
  prefix: 'one summary for everything old',
};

/** The longest window that the slider offers. The field takes any number. */
const MAX_WINDOW = 200;

/** Controls of the policy that is tried. */
export function TrialControls({ policy, usedTokens, messages, error, onChange }: TrialControlsProps) {
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
