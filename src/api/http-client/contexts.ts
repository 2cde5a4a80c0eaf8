import { z } from 'zod';
import { fieldError } from '../../domain/errors.ts';
import { idSchema } from '../../domain/ids.ts';
import { parseInput } from '../../domain/parse.ts';
import { cancelable } from '../client/cancelable.ts';
import type {
  Appended,
  AppendInput,
  Breakdown,
  BreakdownInput,
  CompactionReport,
  ContextPoint,
  ContextView,
  ConversationName,
  ConversationPage,
  ConversationsInput,
  ConversationView,
  DryPlan,
  DryRunInput,
  EventOptions,
  EventOrLoss,
  Fork,
  ForkInput,
  LogEntry,
  LogPart,
  Outline,
  OutlineInput,
  ReportInput,
  RestoreInput,
  RollbackInput,
  TurnUsage,
  UsageInput,
  Version,
  VersionChange,
} from '../client/index.ts';
import { readTurnId } from '../client/input.ts';
import { followEventStream, type ReceivedEvent } from './event-stream.ts';
import { addTenant, callOf, newId, readCalled, readFields, writeBody } from './requests.ts';
import type { HttpAnswer, HttpCall, Transport } from './transport.ts';

const operationSchema = z.looseObject({ operation: idSchema.optional() });

/** Adds the input of a write, under an id with which each attempt is the same write. */
function writeUnderId(call: HttpCall, input: object): HttpCall {
  const { operation = newId(), ...rest } = parseInput(operationSchema, input);
  return { ...call, body: writeBody({ ...rest, operation }), write: { field: 'operation', id: operation } };
}

const appendSchema = z.looseObject({ conversation: idSchema, tenant: idSchema.optional() });

export async function appendMessages(transport: Transport, input: AppendInput): Promise<Appended> {
  const { conversation, tenant, ...rest } = parseInput(appendSchema, input);
  const call = callOf({ conversation, tenant }, 'POST', 'messages');
  return (await transport.send<Appended>(writeUnderId(call, rest))).body;
}

export async function readContext(
  transport: Transport,
  name: ConversationName,
  at: ContextPoint = {},
): Promise<ContextView> {
  const called = readCalled(name);
  return await readView(transport, { ...callOf(called, 'GET', 'context'), query: { ...readFields(at) } });
}

export async function showVersion(transport: Transport, name: ConversationName, version: number): Promise<ContextView> {
  return await readView(transport, callOf(readCalled(name), 'GET', 'versions', String(version)));
}

async function readView(transport: Transport, call: HttpCall): Promise<ContextView> {
  const { body, tenant } = await transport.send<ContextView & { readonly format: string }>(call);
  const { format: _, ...view } = body;
  return addTenant(view, tenant);
}

export async function listVersions(transport: Transport, name: ConversationName): Promise<Version[]> {
  const call = callOf(readCalled(name), 'GET', 'versions');
  return (await transport.send<{ versions: Version[] }>(call)).body.versions;
}

export async function diffVersions(
  transport: Transport,
  name: ConversationName,
  versions: { readonly before: number; readonly after: number },
): Promise<VersionChange[]> {
  const call = { ...callOf(readCalled(name), 'GET', 'diff'), query: { ...versions } };
  return (await transport.send<{ changes: VersionChange[] }>(call)).body.changes;
}

export async function readOutline(
  transport: Transport,
  name: ConversationName,
  input: OutlineInput = {},
): Promise<Outline> {
  const call = { ...callOf(readCalled(name), 'GET', 'outline'), query: { ...readFields(input) } };
  return (await transport.send<Outline>(call)).body;
}

export async function readBreakdown(
  transport: Transport,
  name: ConversationName,
  input: BreakdownInput = {},
): Promise<Breakdown> {
  const call = { ...callOf(readCalled(name), 'GET', 'breakdown'), query: { ...readFields(input) } };
  return (await transport.send<Breakdown>(call)).body;
}

export async function reportVersion(
  transport: Transport,
  name: ConversationName,
  version: number,
  input: ReportInput = {},
): Promise<CompactionReport> {
  const call = callOf(readCalled(name), 'GET', 'versions', String(version), 'report');
  return (await transport.send<CompactionReport>({ ...call, query: { ...readFields(input) } })).body;
}

export async function planCompaction(
  transport: Transport,
  name: ConversationName,
  input: DryRunInput = {},
): Promise<DryPlan> {
  const body = writeBody({ ...readFields(input), dryRun: true });
  return (await transport.send<{ plan: DryPlan }>({ ...callOf(readCalled(name), 'POST', 'compact'), body })).body.plan;
}

/** Maximum number of entries in one answer of the server. */
const PAGE_ENTRIES = 1_000;

interface LogPage {
  readonly items: readonly (Omit<LogEntry, 'seq'> & { readonly from: number; readonly to: number })[];
  readonly next?: number;
}

/** Reads the log page by page, because the server bounds the size of an answer. */
export async function readLog(transport: Transport, name: ConversationName, part: LogPart = {}): Promise<LogEntry[]> {
  const call = callOf(readCalled(name), 'GET', 'messages');
  const { after = 0, limit, maxBytes, ...rest } = readFields(part);
  const entries: LogEntry[] = [];
  let next: number | undefined = after;
  while (next !== undefined) {
    const missing = limit === undefined ? PAGE_ENTRIES : limit - entries.length;
    if (entries.length > 0 && missing <= 0) break;
    const query: HttpCall['query'] = { ...rest, after: next, limit: missing > PAGE_ENTRIES ? PAGE_ENTRIES : missing };
    const page: HttpAnswer<LogPage> = await transport.send<LogPage>({ ...call, query });
    entries.push(...page.body.items.map(({ from, to: _, ...entry }) => ({ ...entry, seq: from })));
    next = page.body.next;
    const end = maxBytes === undefined ? -1 : findEnd(entries, maxBytes);
    if (end !== -1) return entries.slice(0, end + 1);
  }
  return entries;
}

/** Index of the entry that reaches so many bytes, or -1. */
function findEnd(entries: readonly LogEntry[], maxBytes: number): number {
  let left = maxBytes;
  return entries.findIndex(({ bytes }) => (left -= bytes) <= 0);
}

export function followEvents(
  transport: Transport,
  name: ConversationName,
  options: EventOptions = {},
): AsyncGenerator<EventOrLoss, void, void> {
  const describe = (): HttpCall => callOf(readCalled(name), 'GET', 'events');
  return cancelable((left) => readEvents(followEventStream(transport, { options, describe }, left)));
}

async function* readEvents(events: AsyncIterable<ReceivedEvent>): AsyncGenerator<EventOrLoss, void, void> {
  for await (const { id, type, data } of events) {
    if (type !== 'end') yield { ...data, ...(id !== undefined && { id }) } as EventOrLoss;
  }
}

export async function describeConversation(transport: Transport, name: ConversationName): Promise<ConversationView> {
  const { body } = await transport.send<ConversationView & { conversation: string }>(callOf(readCalled(name), 'GET'));
  const { conversation: _, ...view } = body;
  return view;
}

export async function listConversations(
  transport: Transport,
  input: ConversationsInput = {},
): Promise<ConversationPage> {
  const { tenant: named, ...query } = readFields(input);
  const call = { method: 'GET', path: ['conversations'], query, tenant: named } as const;
  const { body, tenant } = await transport.send<ConversationPage>(call);
  return { ...body, conversations: body.conversations.map((listed) => addTenant(listed, tenant)) };
}

export async function readUsage(transport: Transport, input: UsageInput = {}): Promise<TurnUsage> {
  const { tenant } = readFields(input);
  return (await transport.send<TurnUsage>({ method: 'GET', path: ['usage'], tenant })).body;
}

export async function restoreConversation(
  transport: Transport,
  name: ConversationName,
  input: RestoreInput,
): Promise<Version> {
  const called = readCalled(name);
  const { version, ...rest } = readFields(input);
  const call = callOf(called, 'POST', 'versions', String(version), 'restore');
  return (await transport.send<Version>(writeUnderId(call, rest))).body;
}

export async function rollBackTurn(
  transport: Transport,
  name: ConversationName,
  turn: string,
  input: RollbackInput = {},
): Promise<Version> {
  const call = callOf(readCalled(name), 'POST', 'turns', readTurnId(turn), 'rollback');
  return (await transport.send<Version>(writeUnderId(call, input))).body;
}

export async function forkConversation(
  transport: Transport,
  from: ConversationName,
  to: ConversationName,
  input: ForkInput = {},
): Promise<Fork> {
  const [source, target] = [readCalled(from), readCalled(to, 'to')];
  const named = source.tenant ?? target.tenant;
  if (target.tenant !== undefined && target.tenant !== named) {
    throw fieldError(
      'access_denied',
      'to.tenant',
      `a fork stays in the tenant of its source, ${JSON.stringify(named)}. Got ${JSON.stringify(target.tenant)}`,
    );
  }
  const call = callOf({ ...source, tenant: named }, 'POST', 'fork');
  const write = writeUnderId(call, { ...readFields(input), to: target.conversation });
  const { body, tenant } = await transport.send<Fork>(write);
  return addTenant(body, tenant);
}

export async function requestCompaction(transport: Transport, name: ConversationName): Promise<string> {
  return (await transport.send<{ pass: string }>(callOf(readCalled(name), 'POST', 'compact'))).body.pass;
}

export async function eraseConversation(
  transport: Transport,
  name: ConversationName,
): Promise<{ readonly removedKeys: number }> {
  const called = readCalled(name);
  const write = { field: 'conversation', id: called.conversation } as const;
  return (await transport.send<{ removedKeys: number }>({ ...callOf(called, 'DELETE'), write })).body;
}
