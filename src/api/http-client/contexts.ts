import { fieldError } from '../../domain/errors.ts';
import type {
  ContextPoint,
  ContextView,
  ConversationName,
  ConversationView,
  DryPlan,
  DryRunInput,
  Fork,
  ForkInput,
  LogEntry,
  LogPart,
  ProposalView,
} from '../client/index.ts';
import { callOperation, describeCall, readCalled, readFields } from './requests.ts';
import type { HttpAnswer, Transport } from './transport.ts';

export async function readContext(
  transport: Transport,
  name: ConversationName,
  at: ContextPoint = {},
): Promise<ContextView> {
  return hideFormat(await callOperation(transport, 'context', [name, at]));
}

export async function showVersion(transport: Transport, name: ConversationName, version: number): Promise<ContextView> {
  return hideFormat(await callOperation(transport, 'show', [name, version]));
}

function hideFormat(answered: ContextView): ContextView {
  const { format: _, ...view } = answered as ContextView & { readonly format?: string };
  return view;
}

export async function describeConversation(transport: Transport, name: ConversationName): Promise<ConversationView> {
  const answered = await callOperation(transport, 'describe', [name]);
  const { conversation: _, ...view } = answered as ConversationView & { readonly conversation?: string };
  return view;
}

export async function planCompaction(
  transport: Transport,
  name: ConversationName,
  input: DryRunInput = {},
): Promise<DryPlan> {
  const { write: _, ...call } = describeCall('compact', [name, { ...readFields(input), dryRun: true }]).call;
  return (await transport.send<{ plan: DryPlan }>(call)).body.plan;
}

export async function readProposal(transport: Transport, name: ConversationName): Promise<ProposalView | undefined> {
  const { body, tenant } = await transport.send<{ proposals: ProposalView[] }>(describeCall('proposal', [name]).call);
  const [proposal] = body.proposals;
  return proposal === undefined ? undefined : { ...proposal, tenant };
}

export async function forkConversation(
  transport: Transport,
  ...[from, to, input = {}]: [from: ConversationName, to: ConversationName, input?: ForkInput]
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
  const { call } = describeCall('fork', [
    { conversation: source.conversation, tenant: named },
    { ...readFields(input), to: target.conversation },
  ]);
  const { body, tenant } = await transport.send<Fork>(call);
  return { ...body, tenant };
}

/** Maximum number of entries in one answer of the server. */
const PAGE_ENTRIES = 1_000;

interface LogPage {
  readonly items: readonly (Omit<LogEntry, 'seq'> & { readonly from: number; readonly to: number })[];
  readonly next?: number;
}

/** Reads the log page by page, because the server bounds the size of an answer. */
export async function readLog(transport: Transport, name: ConversationName, part: LogPart = {}): Promise<LogEntry[]> {
  const { after = 0, limit, maxBytes, ...rest } = readFields(part);
  const entries: LogEntry[] = [];
  let next: number | undefined = after;
  while (next !== undefined) {
    const missing = limit === undefined ? PAGE_ENTRIES : limit - entries.length;
    if (entries.length > 0 && missing <= 0) break;
    const asked = { ...rest, after: next, limit: missing > PAGE_ENTRIES ? PAGE_ENTRIES : missing };
    const page: HttpAnswer<LogPage> = await transport.send<LogPage>(describeCall('log', [name, asked]).call);
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
