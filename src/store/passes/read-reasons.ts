import type { PassLease, PassLost, PassStore } from '../../domain/ports/pass-store.ts';
import type { Keyspace } from '../keys.ts';
import { RecordFields } from '../record-fields.ts';
import type { ScriptDefinition } from '../script.ts';
import { decodeReasons as readPassReasons } from './pass-record.ts';

type Reply = ['held', string, string, string] | [PassLost['status']];

export function readReasonsScript(
  keyspace: Keyspace,
): ScriptDefinition<PassLease, Awaited<ReturnType<PassStore['readReasons']>>> {
  return {
    file: 'read-reasons',
    keys: ({ conversation }) => keyspace.conversation(conversation),
    args: ({ passId, owner }) => [passId, owner],
    decode: (reply, { conversation }) => {
      const answer = reply as Reply;
      if (answer[0] !== 'held') return { status: answer[0] };
      const [status, reasons, refused, calibration] = answer;
      const pass = RecordFields.ofValues(keyspace.key(conversation, 'pass'), ['reasons'], [reasons]);
      return {
        status,
        reasons: readPassReasons(pass),
        ...(refused !== '' && { refusedTokens: pass.toNumber('refused', refused) }),
        ...(calibration !== '' && { calibration: pass.toNumber('calibration', calibration) }),
      };
    },
  };
}
