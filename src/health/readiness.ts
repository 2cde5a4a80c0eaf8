import { isTurnfoldError } from '../domain/errors.ts';
import { shareMeasurement } from '../telemetry/shared-measurement.ts';
import { type Finding, findWrong } from './finding.ts';

export interface Check {
  readonly name: string;
  /** A check that throws or times out counts as wrong. */
  readonly run: () => Finding | Promise<Finding>;
  /** Remedy that is shown if the check throws or times out. */
  readonly remedy: string;
}

/** Below the default probe timeout of Kubernetes, one second. */
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
  return async () => (await read()) ?? findWrong(name, 'no answer in time', remedy);
}

/** Hides the text of foreign errors. The page is public, and such a text may hold a secret. */
function describe(error: unknown): string {
  return isTurnfoldError(error) ? `${error.code}: ${error.message}` : 'the check failed';
}
