import type { ConversationRef } from '../../domain/ids.ts';
import { PASS_LIMITS } from '../../domain/pass.ts';
import type { Keyspace } from '../keys.ts';
import type { ScriptDefinition } from '../script.ts';

interface PartRequest {
  readonly conversation: ConversationRef;
  readonly key: string;
  readonly text: string;
}

/** What every text begins with: whatever lies under the key already stays. */
const ANY_PREFIX = '';

/** A part lies beside the summaries, under a name that none of theirs is: those are hexadecimal. */
export function partHash(key: string): string {
  return `part:${key}`;
}

export function recordPart(keyspace: Keyspace): ScriptDefinition<PartRequest, 'recorded' | 'gone'> {
  return {
    file: 'record-summary',
    keys: ({ conversation }) => keyspace.conversation(conversation),
    args: ({ key, text }) => [partHash(key), text, PASS_LIMITS.summaryTtlMs, ANY_PREFIX],
    decode: (reply) => reply as 'recorded' | 'gone',
  };
}
