import { createHash } from 'node:crypto';
import type {
  ConversationEvent,
  ConversationsInput,
  ListedConversation,
  OpenCallView,
  OpenTurns,
  VersionReport,
  WaitingInput,
  WaitingTurn,
} from '../../api/client/index.ts';
import { DEFAULT_TENANT } from '../../domain/ids.ts';
import { FRAMING_TOKENS } from '../../domain/limits.ts';
import { writeJson, writeResult } from '../output.ts';
import type { ClientContext, ConversationOptions, ListOptions } from '../run-command.ts';
import { clipCell, formatMinute, formatTable, writeTable } from '../table.ts';
import { describeCall, describeOpen } from '../turn-text.ts';
import { describeWork } from '../work-text.ts';

interface PageOptions extends ListOptions {
  readonly after?: string;
}

type ConversationsOptions = PageOptions & Pick<ConversationsInput, 'agent' | 'state' | 'owner' | 'metadata' | 'order'>;

const HEADER = ['conversation', 'agent', 'state', 'messages', 'open', 'last message', 'last turn', 'title'];
const AGENT_WIDTH = 16;
const TITLE_WIDTH = 40;

export async function showConversations(
  { client, output }: ClientContext,
  { json, limit, ...filter }: ConversationsOptions,
): Promise<number> {
  const found: ListedConversation[] = [];
  let { after } = filter;
  do {
    const page = await client.conversations({ ...filter, limit: limit - found.length, after });
    found.push(...page.conversations);
    after = page.next;
  } while (after !== undefined && found.length < limit);
  if (json) for (const conversation of found) writeJson(output, conversation);
  else if (found.length > 0) writeTable(output, formatTable([HEADER, ...found.map(describeRow)]));
  if (found.length === 0) output.note('no conversations');
  if (after !== undefined) output.note(`For more entries, add: --after ${after}`);
  return 0;
}

function describeRow(listed: ListedConversation): string[] {
  const { tenant, conversation, agent, state, head, mailbox, lastAt, lastTurn, title = '' } = listed;
  return [
    tenant === DEFAULT_TENANT ? conversation : `${tenant}/${conversation}`,
    clipCell(agent, AGENT_WIDTH),
    state,
    String(head),
    String(mailbox),
    formatMinute(lastAt),
    lastTurn === undefined ? '' : `${lastTurn.state} ${formatMinute(lastTurn.settledAt)}`,
    clipCell(title, TITLE_WIDTH),
  ];
}

type WaitingOptions = PageOptions & Pick<WaitingInput, 'for'>;

const WIDTH = 100;

export async function showWaiting(
  { client, output }: ClientContext,
  { json, limit, ...filter }: WaitingOptions,
): Promise<number> {
  let left = limit;
  let { after } = filter;
  do {
    const page = await client.waiting({ ...filter, limit: left, after });
    for (const turn of page.turns) writeResult(output, json, turn, ...describeWaitingTurn(turn));
    left -= page.turns.length;
    after = page.next;
  } while (after !== undefined && left > 0);
  if (left === limit) output.note('no turns wait for a tool result or an approval');
  if (after !== undefined) output.note(`For more entries, add: --after ${after}`);
  if (!json && left < limit)
    output.note('For whole arguments and the commands that answer, run: turnfold turns <conversation>');
  return 0;
}

function describeWaitingTurn({ tenant, conversation, turn, agent, waiting }: WaitingTurn): string[] {
  const whose = tenant === DEFAULT_TENANT ? '' : `  of tenant ${tenant}`;
  const { for: kind, since, calls } = waiting;
  return [
    `${conversation}  ${turn}${whose}`,
    `  ${clipCell(agent, 24)} waits for ${kind} since ${formatMinute(since)}`,
    ...calls.flatMap((call) => [
      clipCell(`  ${call.id}  ${describeCall(call)}`, WIDTH),
      `    until ${formatMinute(call.until)}`,
    ]),
  ];
}

export async function describe(
  { client, output }: ClientContext,
  id: string,
  { tenant, json }: ConversationOptions,
): Promise<number> {
  const [state, open, work] = await Promise.all([
    client.describe({ tenant, conversation: id }),
    client.openTurns({ tenant, conversation: id }, { limit: 1 }),
    client.workDone({ tenant, conversation: id }),
  ]);
  const { agent, head, turns, size, passed, passId, openCalls, isForking, quarantine, conversationTtl } = state;
  const sent = size.weight.tokens + size.headTotal.tokens - size.baseTotal.tokens + FRAMING_TOKENS;
  const rows: [string, string | false | undefined][] = [
    ['agent', agent],
    ['owner', state.owner],
    ['title', state.title],
    ['metadata', state.metadata && JSON.stringify(state.metadata)],
    ['created', `${formatMinute(state.createdAt)}, last message ${formatMinute(state.lastAt)}`],
    ['log', `${head} messages (${turns} from users), ${size.headTotal.tokens} tokens`],
    ['context', `version ${size.version}, ${sent} tokens without system prompt and tools`],
    ['last pass', passed.head === 0 ? 'none' : `at message ${passed.head}`],
    ['pass', passId === undefined ? 'none in progress' : `${passId}, requested or in progress`],
    ...describeOpenTurns(open),
    ...openCalls.map((call): [string, string] => ['open call', describeOpenCall(call, open)]),
    ['refused', quarantine && `a provider refused version ${quarantine.version} of the context, which was rolled back`],
    [
      'idle TTL',
      conversationTtl !== undefined && `${conversationTtl / 1_000} s without work, then the conversation is erased`,
    ],
    ['fork', isForking && 'copy in progress: the conversation is incomplete'],
  ];
  const writeRows = (shown: readonly [string, string | false | undefined][]): string[] =>
    shown.filter(([, what]) => what).map(([name, what]) => `  ${name.padEnd(10)}  ${what}`);
  const value = { tenant, conversation: id, ...state, openTurns: open, workDone: work };
  const done = writeRows(describeWork(work, Date.now()));
  writeResult(output, json, value, id, ...writeRows(rows), 'What was done', ...done);
  return 0;
}

function describeOpenTurns({ turns: [first], mailbox, scheduled }: OpenTurns): [string, string | false][] {
  if (first === undefined) return [['turn', 'none open']];
  const behind = Math.max(0, mailbox - 1);
  return [
    ['turn', describeOpen(first)],
    ['behind it', behind > 0 && `${behind} queued`],
    ['scheduled', scheduled > 0 && `${scheduled} (turnfold turns shows when they are due)`],
  ];
}

/** An open call belongs to the running or waiting turn, or to a caller that appends messages without turns. */
function describeOpenCall(call: OpenCallView, { turns: [first] }: OpenTurns): string {
  const owner = first?.state === 'running' || first?.state === 'waiting' ? `, of ${first.turn}` : '';
  return `${call.id}  ${describeCall(call)}${owner}`;
}

interface ForkOptions extends ConversationOptions {
  readonly version?: number;
  readonly head?: number;
}

/** The operation id is a hash of the arguments, so the same command again resumes an interrupted copy. */
export async function fork(
  { client, output }: ClientContext,
  id: string,
  newId: string,
  { tenant, json, version, head }: ForkOptions,
): Promise<number> {
  const point = { version, head };
  const hash = createHash('sha256')
    .update(JSON.stringify([id, point]))
    .digest('hex')
    .slice(0, 32);
  const copy = await client.fork(
    { tenant, conversation: id },
    { tenant, conversation: newId },
    { ...point, operation: `fork-${hash}` },
  );
  writeResult(output, json, copy, `${copy.conversation}  ${copy.head} messages, copied from ${id}`);
  return 0;
}

/** A missing conversation is no error, so that the command can be repeated. */
export async function erase(
  { client, output }: ClientContext,
  id: string,
  { tenant, json }: ConversationOptions,
): Promise<number> {
  const { removedKeys } = await client.erase({ tenant, conversation: id });
  if (json) writeJson(output, { tenant, conversation: id, removedKeys });
  else if (removedKeys > 0) output.line(`${id}  erased (${removedKeys} Redis keys)`);
  else output.note(`tenant ${tenant} has no conversation ${id} (--tenant names another tenant)`);
  return 0;
}

interface EventsOptions extends ConversationOptions {
  /** Id of an event, whose later events are shown. Absent: all kept events. */
  readonly after?: string;
  readonly follow?: boolean;
}

export async function showEvents(
  { client, output }: ClientContext,
  id: string,
  { tenant, after = '0', follow = false, json }: EventsOptions,
): Promise<number> {
  let count = 0;
  for await (const event of client.events({ tenant, conversation: id }, { after, ...(!follow && { waitMs: 0 }) })) {
    count += 1;
    if (json) writeJson(output, event);
    else if (event.type === 'lost') output.note('(older events are no longer kept, so some may be missing here)');
    else output.line(`${event.id}  ${new Date(event.at).toISOString()}  ${describeEvent(event)}`);
  }
  if (count === 0) output.note(`no events${after === '0' ? ' within the last day' : ` after ${after}`}`);
  return 0;
}

function describeEvent(event: ConversationEvent): string {
  switch (event.type) {
    case 'turn_settled':
      return `turn ${event.turn} ${event.state}`;
    case 'turn_steered':
      return `message of turn ${event.turn} went into turn ${event.into} as message ${event.seq}`;
    case 'turn_waiting': {
      const calls = event.calls.map(
        ({ name, arguments: text, input = text, isCut }) => `${name}(${input}${isCut ? '…' : ''})`,
      );
      const which = calls.length === 0 ? '' : `: ${calls.join(', ')}`;
      return `turn ${event.turn} waits for ${event.for}, until ${new Date(event.until).toISOString()}${which}`;
    }
    case 'version_committed':
      return `version ${event.version} by ${event.cause}: ${describeVersion(event)}`;
    case 'pass_ended':
      return `pass ${event.passId} ended: ${event.outcome}`;
    case 'version_proposed':
      return `proposal ${event.proposal} of pass ${event.passId}: ${describeVersion(event)}`;
    case 'proposal_decided': {
      const decision = event.verdict === 'approve' ? 'approved' : 'rejected';
      // As JSON, a reason with line breaks stays on one line.
      return `proposal ${event.proposal} ${decision}${event.reason === undefined ? '' : `: ${JSON.stringify(event.reason)}`}`;
    }
    case 'approval_refused':
      return `approval of compaction pass ${event.passId} could not be carried out: ${event.code}`;
    case 'unknown':
      return `unknown event ${JSON.stringify(event.name)} of a newer turnfold: ${JSON.stringify(event.fields)}`;
  }
}

function describeVersion({ strategy, reasons, archived, tokensBefore, tokensAfter }: VersionReport): string {
  const why = reasons.length === 0 ? '' : ` for ${reasons.join(', ')}`;
  return `${strategy}${why}, ${tokensBefore} -> ${tokensAfter} tokens, ${archived} messages archived`;
}
