import { isTurnfoldError } from '../../domain/errors.ts';
import { shareMeasurement } from '../../telemetry/shared-measurement.ts';
import { type Finding, findWrong } from './finding.ts';

export interface Check {
  readonly name: string;
  /** Runs the check. A check that throws or exceeds the deadline counts as failed. */
  readonly run: () => Finding | Promise<Finding>;
  readonly remedy: string;
}

/** ms for all checks. Below the default probe timeout of Kubernetes, one second. */
const DEADLINE_MS = 800;

/** Runs all checks in parallel, each with a deadline. Concurrent requests share one run. Never rejects. */
export function createReadiness(checks: readonly Check[], deadlineMs = DEADLINE_MS): () => Promise<Finding[]> {
  const runs = checks.map((check) => watch(check, deadlineMs));
  return async () => await Promise.all(runs.map((run) => run()));
}

function watch({ name, run, remedy }: Check, deadlineMs: number): () => Promise<Finding> {
  const read = shareMeasurement({
    async measure() {
      try {
        return await run();
      } catch (error) {
        return findWrong(name, describe(error), remedy);
      }
    },
    deadlineMs,
    onFailure: () => undefined,
  });
  return async () => (await read()) ?? findWrong(name, 'the check did not finish in time', remedy);
}

/** The page is public, and an error without a turnfold code may contain a secret. */
function describe(error: unknown): string {
  return isTurnfoldError(error) ? `${error.code}: ${error.message}` : 'the check failed';
}
