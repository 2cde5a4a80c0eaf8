import { useEffect, useMemo } from 'preact/hooks';
import { CopyButton } from '../parts/copy-button.tsx';
import { type AgentSettings, type TrialPolicy, writePolicyYaml } from './policy-yaml.ts';

export interface PolicyFileProps {
  readonly policy: TrialPolicy;
  readonly settings: AgentSettings;
}

/** The tried policy as a file for workers. */
export function PolicyFile({ policy, settings }: PolicyFileProps) {
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
