import { createHash } from 'node:crypto';
import type { ToolDescription } from '../domain/model.ts';

/**
 * Fingerprint of what stands before every message. Newer models bind their thinking to it as well (A8): an agent whose
 * prompt or tools changed keeps its version number, and must send no older thinking all the same.
 */
export function fingerprintPrefix(system: readonly string[], tools: readonly ToolDescription[]): string {
  return createHash('sha256')
    .update(JSON.stringify([system, tools]))
    .digest('hex')
    .slice(0, 16);
}
