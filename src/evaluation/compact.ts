import { requestTokens, weighSent } from '../compaction/budget.ts';
import type { SettledContext } from '../compaction/settle.ts';
import { TurnfoldError } from '../domain/errors.ts';
import type { Message, WeighedMessage } from '../domain/message.ts';
import { joinPartTexts } from '../domain/parts.ts';
import type { Reason } from '../domain/pass.ts';
import type { BudgetInfeasible } from '../domain/pass-plan.ts';
import { weighVersion } from '../domain/version.ts';
import { arrangeRequest } from '../wire/arrange.ts';
import type { SentPart } from '../wire/parts.ts';
import type { ArrangedItem } from '../wire/wire-request.ts';
import type { VersionRefusal } from '../workers/compaction/plan-and-settle.ts';
import type { PreparedAgent } from '../workers/prepared-agent.ts';
import type { CompactReport } from './compact/compacted-messages.ts';
import type { EvaluatedConversation } from './evaluated-conversation.ts';
import { EvaluatedPasses, type SummarizerChain } from './evaluated-passes.ts';

type DryRunReport = Omit<CompactReport, 'ranges' | 'notes' | 'errors'>;

export interface CompactedConversation {
  readonly messages: readonly Message[];
  readonly report: DryRunReport;
  /** Conversation after the compaction, so that a `recall` tool can still search its log. */
  readonly conversation: EvaluatedConversation;
}

/**
 * Runs one pass over a whole recorded conversation, as if a person had requested the pass (`manual`). If necessary,
 * messages of the retention window are removed, too.
 * @param weighed messages whose call ids are those of a log
 * @throws budget_infeasible with the sizes of all parts and advice on what to change
 * @throws invalid_context if the compacted context breaks a rule of a provider's format
 */
export async function compactConversation(
  weighed: readonly WeighedMessage[],
  prepared: PreparedAgent,
  summarizers: SummarizerChain,
): Promise<CompactedConversation> {
  const passes = new EvaluatedPasses(prepared, summarizers);
  const { conversation } = passes;
  for (const message of weighed) conversation.append(message);
  const before = weighSent(conversation.context.items);
  const outcome = await passes.run(['manual']);
  if (outcome.kind === 'infeasible') throw infeasibleError(outcome.details);
  if (outcome.kind === 'refused') throw refusedError(outcome.refusal);
  const { items, version } = conversation.context;
  const messages = renderSentMessages(
    items.map(({ message }) => message),
    { version: version.number, system: prepared.system },
  );
  const { reasons } = outcome;
  if (outcome.kind === 'version') {
    return { messages, conversation, report: reportCompaction(outcome.settled, reasons, prepared) };
  }
  const tokens = requestTokens(prepared, before.tokens);
  const sizes = { tokensBefore: tokens, tokensAfter: tokens, bytesAfter: before.bytes + prepared.overhead.bytes };
  return { messages, conversation, report: { kind: 'none', reasons, ...sizes, ...NOTHING_DONE } };
}

export function refusedError({ codes, message }: VersionRefusal): TurnfoldError {
  return new TurnfoldError(
    'invalid_context',
    `messages: the compacted messages would break ${codes.length === 1 ? 'rule' : 'rules'} ${codes.join(', ')}: ${message}`,
    {
      field: 'messages',
      details: { rules: codes },
    },
  );
}

export const NOTHING_DONE = {
  archived: 0,
  sequences: 0,
  evicted: 0,
  clipped: 0,
  floorRelaxed: false,
  steps: [],
} as const;

export function reportCompaction(
  settled: SettledContext,
  reasons: readonly Reason[],
  prepared: PreparedAgent,
): DryRunReport {
  const { strategy, tokensBefore, tokensAfter, archived, segments, steps } = settled;
  const lengthOf = (kind: 'evicted' | 'clipped'): number =>
    segments.reduce((sum, { kind: other, from, to }) => sum + (other === kind ? to - from + 1 : 0), 0);
  return {
    kind: strategy,
    reasons,
    tokensBefore,
    tokensAfter,
    bytesAfter: weighVersion(settled).bytes + prepared.overhead.bytes,
    archived,
    sequences: segments.filter(({ kind }) => kind === 'summary').length,
    evicted: lengthOf('evicted'),
    clipped: lengthOf('clipped'),
    floorRelaxed: settled.isFloorRelaxed,
    steps: steps.map(({ step, tokens, bytes }) => ({
      step,
      tokens: requestTokens(prepared, tokens),
      bytes: bytes + prepared.overhead.bytes,
    })),
  };
}

type Part = 'fixed' | 'pinned' | 'open' | 'floor';

const NAMES: Readonly<Record<Part, string>> = {
  fixed: 'system prompt and framing',
  pinned: 'pinned messages',
  open: 'last user message, open rounds and unread results',
  floor: 'retention window and first user message',
};

const ADVICE: Readonly<Record<Part, string>> = {
  fixed: 'shorten the system prompt',
  pinned: 'shorten the pins of the policy, or unpin a message',
  open: 'shorten the last user message, or the tool calls and results after it',
  floor: 'lower retentionWindow',
};

export function infeasibleError(details: BudgetInfeasible): TurnfoldError {
  const { fixed, pinned, open, floor, max, bytes } = details;
  const parts = (Object.entries({ fixed, pinned, open, floor }) as [Part, number][]).filter(([, size]) => size > 0);
  const total = fixed + pinned + open + floor;
  const sum = `${parts.map(([part, size]) => `${NAMES[part]} ${size}`).join(' + ')} = ${total} tokens`;
  const [largest = 'open'] = parts.toSorted(([, a], [, b]) => b - a).map(([part]) => part);
  const sizes = [
    ...(total > max ? [`compaction must keep ${sum}, but maxTokens is ${max}`] : []),
    ...(bytes === undefined ? [] : [`compaction must keep ${bytes.left} bytes, but the model accepts ${bytes.max}`]),
  ];
  const raise = total > max ? `raise maxTokens to at least ${total}, or ` : '';
  return new TurnfoldError('budget_infeasible', `${sizes.join('; ') || sum}: ${raise}${ADVICE[largest]}`, {
    details: { ...details, advice: `${raise}${ADVICE[largest]}` },
  });
}

/**
 * Messages of a request in turnfold's form, in the order of all provider formats: system messages come first, then a
 * user message. Summaries are user messages, results follow their calls, and empty messages are left out.
 * @throws orphan_result or duplicate_call if the messages are not a valid history
 */
function renderSentMessages(
  messages: readonly Message[],
  { version, system: prompt }: { readonly version: number; readonly system: string },
): Message[] {
  const request = { model: 'offline', system: prompt, tools: [], messages, version, maxOutputTokens: 1 };
  const { system, items } = arrangeRequest(request, 'openai-chat', { takesLaterSystem: true });
  return [
    ...system.map(({ text }): Message => ({ role: 'system', content: text })),
    ...items.map((item) => sentMessage(item, messages)),
  ];
}

function sentMessage(item: ArrangedItem, messages: readonly Message[]): Message {
  if (item.kind === 'assistant') {
    const toolCalls = item.calls.map(({ id, name, arguments: text }) => ({ id, name, arguments: text }));
    const { content, raw } = messages[item.origin] ?? {};
    // The provider's items, such as its reasoning, fit only an unchanged message.
    const kept = raw === undefined || content !== item.text ? {} : { raw };
    return { role: 'assistant', content: item.text, ...(toolCalls.length === 0 ? {} : { toolCalls }), ...kept };
  }
  if (item.kind === 'system') return { role: 'system', content: item.text };
  const said = sentContent(item.parts, messages[item.origin]);
  if (item.kind === 'user') return { role: 'user', ...said };
  return { role: 'tool', toolCallId: item.callId, ...said, ...(item.isError ? { isError: true } : {}) };
}

/** Content of a sent message. A message with pictures also keeps its original parts. */
function sentContent(parts: readonly SentPart[], original: Message | undefined): Pick<Message, 'content' | 'parts'> {
  const content = joinPartTexts(parts.map((part) => (part.kind === 'text' ? part.text : '')));
  const hasPictures = parts.some(({ kind }) => kind !== 'text');
  return hasPictures && original?.parts !== undefined ? { content, parts: original.parts } : { content };
}
