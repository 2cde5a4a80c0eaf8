import { isTurnfoldError } from '../domain/errors.ts';
import { shareMeasurement } from '../telemetry/shared-measurement.ts';
import { type Finding, findWrong } from './finding.ts';

/** Something that a worker needs to do its work. */
export interface Check {
  readonly name: string;
  /** what throws, or does not answer in time, is wrong */
  readonly run: () => Finding | Promise<Finding>;
  /** what to do where it throws */
  readonly remedy: string;
}

/** Below the second that Kubernetes waits for an answer unless told. */
const DEADLINE_MS = 800;

/** All checks at once, each within its deadline, and begun once however many ask. Never rejects. */
export function createReadiness(checks: readonly Check[], deadlineMs = DEADLINE_MS): () => Promise<Finding[]> {
  const looks = checks.map((check) => watch(check, deadlineMs));
  return async () => await Promise.all(looks.map((look) => look()));
}

function watch({ name, run: look, remedy }: Check, deadlineMs: number): () => Promise<Finding> {
  const read = shareMeasurement({
    async measure() {
      try {
        return await look();
      } catch (error) {
        return findWrong(name, describe(error), remedy);
      }
    },
    deadlineMs,
    onFailure: () => undefined,
  });
  return async () => (await read()) ?? findWrong(name, 'no answer in time', remedy);
}

/** The page is open to whoever reaches it: of an error that is not ours, nothing is known to be no secret. */
function describe(error: unknown): string {
  return isTurnfoldError(error) ? `${error.code}: ${error.message}` : 'it failed';
}
