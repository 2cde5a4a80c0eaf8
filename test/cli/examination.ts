import { expect } from 'vitest';
import type { Finding } from '../../src/host/health/finding.ts';
import { runTurnfold } from './run-turnfold.ts';

interface Examination {
  readonly code: number | null;
  readonly state: Finding['state'];
  readonly checks: readonly Finding[];
}

/** Runs `turnfold doctor` with these settings. */
export async function examine(env: Record<string, string>, ...args: string[]): Promise<Examination> {
  const { code, stdout, stderr } = await runTurnfold(['doctor', '--json', ...args], { env });
  // ioredis prints this line for a user without INFO.
  expect(stderr.replaceAll(/^Skipping the ready check.*$/gm, '').trim()).toBe('');
  expect(stdout).not.toContain('s3cret');
  return { code, ...(JSON.parse(stdout) as Omit<Examination, 'code'>) };
}

/** State by name. The last check of a name wins. */
export function statesOf({ checks }: Examination): Record<string, Finding['state']> {
  return Object.fromEntries(checks.map(({ name, state }) => [name, state]));
}
