import type { TurnfoldClient } from '../contract/client.ts';
import { answerTurn } from './answers.ts';
import { appendMessages } from './appends.ts';
import { planCompaction, requestCompaction } from './compaction.ts';
import { diff, listVersions, readContextView, readLog, showVersion } from './contexts.ts';
import { describeConversation, eraseInspected, listConversations, readUsage } from './conversations.ts';
import { enqueueTurn, enqueueTurns, redriveTurn } from './enqueue.ts';
import { followEvents } from './events.ts';
import { forkConversation } from './forks.ts';
import { type InspectionPorts, withRecent } from './inspected-version.ts';
import { readBreakdown, readOutline, reportVersion } from './inspection.ts';
import type { ClientPorts } from './ports.ts';
import { approveProposal, readProposal, rejectProposal } from './proposals.ts';
import { streamTurn } from './stream.ts';
import { cancelTurn, listFailedTurns, listOpenTurns, listWaiting, readResult, readTurnSteps } from './turns.ts';
import { restoreConversation, rollBackTurn } from './versions.ts';

type Methods = { readonly [Name in keyof TurnfoldClient]: Method<TurnfoldClient[Name]> };

/** A method of the client as a function of the ports. */
type Method<Call> = Call extends (...input: infer Input) => infer Answer
  ? (ports: InspectionPorts, ...input: Input) => Answer
  : never;

/** The function of each operation. `src/api/contract` has the operations. */
const methods: Methods = {
  enqueueTurn,
  enqueueTurns,
  result: readResult,
  stream: streamTurn,
  steps: readTurnSteps,
  cancel: cancelTurn,
  openTurns: listOpenTurns,
  conversations: listConversations,
  waiting: listWaiting,
  usage: readUsage,
  failedTurns: listFailedTurns,
  redrive: redriveTurn,
  answer: answerTurn,
  append: appendMessages,
  context: readContextView,
  show: showVersion,
  versions: listVersions,
  diff,
  outline: readOutline,
  breakdown: readBreakdown,
  report: reportVersion,
  plan: planCompaction,
  log: readLog,
  events: followEvents,
  describe: describeConversation,
  restore: restoreConversation,
  rollBackTurn,
  fork: forkConversation,
  compact: requestCompaction,
  proposal: readProposal,
  approve: approveProposal,
  reject: rejectProposal,
  erase: eraseInspected,
};

export function createClient(ports: ClientPorts): TurnfoldClient {
  const inspected = withRecent(ports);
  const bound = Object.entries(methods).map(([name, method]: [string, (...input: never[]) => unknown]) => [
    name,
    (...input: never[]) => method(inspected as never, ...input),
  ]);
  return Object.fromEntries(bound) as TurnfoldClient; // `methods` has the function of every method
}
