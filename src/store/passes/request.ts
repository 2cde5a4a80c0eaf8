import { hasHardReason } from '../../domain/compaction/thresholds.ts';
import type { PassRequest, PassRequestResult } from '../../domain/ports/pass-store.ts';
import type { Keyspace } from '../keys.ts';
import type { ScriptDefinition } from '../script.ts';
import { decodeForking, type ForkingReply } from '../versions/fork-lease.ts';

type Reply = ['requested' | 'joined', string, number] | ForkingReply | ['not_found' | 'gone'];

export function requestPassScript(keyspace: Keyspace): ScriptDefinition<PassRequest, PassRequestResult> {
  return {
    file: 'request-pass',
    keys: ({ conversation }) => keyspace.conversation(conversation),
    args: ({ passId, wake, reasons, refusedTokens, calibration }) => [
      passId,
      wake,
      refusedTokens ?? '',
      calibration ?? '',
      hasHardReason(reasons) ? 1 : 0,
      ...reasons,
    ],
    decode: (reply) => {
      const answer = reply as Reply;
      if (answer[0] === 'forking') return decodeForking(answer);
      if (answer.length === 1) return { status: answer[0] };
      return { status: answer[0], passId: answer[1], needsWake: answer[2] === 1 };
    },
  };
}
