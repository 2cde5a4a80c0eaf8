import type { AccessAnswer } from '../../../src/api/contract/server.ts';
import type { Scope } from '../../../src/domain/access-key.ts';
import { useAnswer } from '../shell/use-answer.ts';

/**
 * @returns the reason why the caller may not change anything. Undefined if changes are allowed, or while the page waits
 * for this answer. The server checks every change anyway
 */
export function useRefusal(scope: Scope): string | undefined {
  const { value } = useAnswer<AccessAnswer>(['access']);
  if (value === undefined) return undefined;
  if (value.isReadOnly === true) return 'This server only reads. Start it with --allow-changes to change something.';
  if (value.scopes.includes(scope) || value.scopes.includes('admin')) return undefined;
  return `This needs an access key with the scope ${scope}.`;
}
