import { bindMethods, type Methods, type TurnfoldClient } from '../contract/client.ts';
import { answerMethods } from './answers.ts';
import { appendMethods } from './appends.ts';
import { compactionMethods } from './compaction.ts';
import { contextMethods } from './contexts.ts';
import { tokenMethods } from './conversation-tokens.ts';
import { conversationMethods } from './conversations.ts';
import { enqueueMethods } from './enqueue.ts';
import { eventMethods } from './events.ts';
import { forkMethods } from './forks.ts';
import { type InspectionPorts, withRecent } from './inspected-version.ts';
import { inspectionMethods } from './inspection.ts';
import type { ClientPorts } from './ports.ts';
import { proposalMethods } from './proposals.ts';
import { streamMethods } from './stream.ts';
import { turnMethods } from './turns.ts';
import { versionMethods } from './versions.ts';
import { workDoneMethods } from './work-done.ts';

/** Every method of the client, under its name in `src/api/contract`. */
const methods: Required<Methods<InspectionPorts>> = {
  ...enqueueMethods,
  ...turnMethods,
  ...answerMethods,
  ...streamMethods,
  ...eventMethods,
  ...appendMethods,
  ...contextMethods,
  ...conversationMethods,
  ...tokenMethods,
  ...forkMethods,
  ...versionMethods,
  ...compactionMethods,
  ...proposalMethods,
  ...inspectionMethods,
  ...workDoneMethods,
};

export function createClient(ports: ClientPorts): TurnfoldClient {
  return bindMethods(methods, withRecent(ports));
}
