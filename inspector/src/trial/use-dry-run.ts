import { useEffect, useState } from 'preact/hooks';
import type { CompactionAnswer } from '../../../src/api/contract/versions.ts';
import type { Conversation } from '../shell/answers.ts';
import { sendChange, type TurnfoldError } from '../shell/client.ts';
import type { TrialPolicy } from './policy-yaml.ts';

export type Plan = NonNullable<CompactionAnswer['plan']>;

/** Pause between a change and its request. A moved slider must not send a request for each pixel. */
const PAUSE_MS = 60;

export interface DryRun {
  readonly plan: Plan | undefined;
  readonly tookMs: number;
  readonly error: TurnfoldError | undefined;
  readonly isRunning: boolean;
}

const NOTHING: DryRun = { plan: undefined, tookMs: 0, error: undefined, isRunning: true };

/**
 * Asks the server for the plan of a compaction under `policy`. Asks again when the policy changes, the log grows or
 * another version becomes live.
 * @param state if undefined, the hook asks for nothing
 */
export function useDryRun(
  conversation: string,
  policy: TrialPolicy,
  state: Pick<Conversation, 'head' | 'size'> | undefined,
): DryRun {
  const [run, setRun] = useState(NOTHING);
  useEffect(() => {
    if (state === undefined) return undefined;
    const leaving = new AbortController();
    setRun((before) => ({ ...before, isRunning: true }));
    const plan = async (): Promise<void> => {
      const start = performance.now();
      try {
        // The trial compacts as soon as the context exceeds the budget, whatever the thresholds of workers.
        const body = { dryRun: true, policy: { ...policy, tokenThreshold: policy.maxTokens } };
        const path = ['conversations', conversation, 'compact'];
        const answer = await sendChange<CompactionAnswer>(path, body, { signal: leaving.signal });
        const tookMs = performance.now() - start;
        setRun({ plan: answer.plan, tookMs, error: undefined, isRunning: false });
      } catch (error) {
        if (leaving.signal.aborted) return;
        setRun((before) => ({ ...before, error: error as TurnfoldError, isRunning: false }));
      }
    };
    const timer = setTimeout(() => void plan(), PAUSE_MS);
    return () => {
      clearTimeout(timer);
      leaving.abort();
    };
  }, [conversation, JSON.stringify(policy), state?.head, state?.size.version]);
  return run;
}
