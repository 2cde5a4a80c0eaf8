import type { ConversationState } from '../../domain/conversation.ts';
import { PASS_LIMITS } from '../../domain/pass.ts';
import type { Policy } from '../../domain/policy.ts';
import type { SummarizationTask } from '../../domain/ports/queue.ts';
import type { EarlierSummary } from '../../domain/ports/summarizer.ts';
import type { Summary, Version } from '../../domain/version.ts';
import type { SummarizationPorts } from './ports.ts';
import { withoutUserTexts } from './user-texts.ts';

/** The summaries of a sequence that a summary may be made from. */
export interface Earlier {
  readonly summaries: readonly EarlierSummary[];
  /** under which versions name their texts */
  readonly keys: readonly string[];
  /** that a summary made from them has */
  readonly depth: number;
}

/** How a sequence stands in the live version. */
export interface Standing {
  readonly earlier?: Earlier;
  /** its number, where nothing but the system prompt stands before the sequence */
  readonly opensVersion?: number;
}

/** Read at the live version: what it holds may have changed since the plan, and a summary is made from the log all the same. */
export async function findStanding(
  contexts: Pick<SummarizationPorts['contexts'], 'readContext'>,
  { conversation, sequence }: SummarizationTask,
  { policy, state }: { readonly policy: Policy; readonly state: ConversationState },
): Promise<Standing> {
  if (policy.summarizer === 'structural') return {};
  const source = state.size.version === 0 ? undefined : await contexts.readContext(conversation);
  const opens = opensContext(source?.version.segments ?? [], sequence.from);
  const opening = opens ? { opensVersion: source?.version.number ?? 0 } : {};
  if (source === undefined) return opening;
  const found = source.version.segments.flatMap((segment) => {
    const isWithin = segment.from >= sequence.from && segment.to <= sequence.to;
    if (segment.kind !== 'summary' || !isWithin) return [];
    const summary = source.summaries.get(segment.text);
    return summary === undefined ? [] : [{ key: segment.text, summary }];
  });
  const earlier = chooseEarlier(found, policy);
  return earlier === undefined ? opening : { ...opening, earlier };
}

interface Found {
  readonly key: string;
  readonly summary: Summary;
}

/**
 * To update what stands there costs the reading of what is new alone. Not where a summary made from it would be too far from
 * the log, or where one of the texts has no model behind it. A provider's own compaction is made to be compacted again, and
 * the log behind it may be larger than the window: it has no such limit.
 */
function chooseEarlier(found: readonly Found[], policy: Policy): Earlier | undefined {
  const depth = 1 + Math.max(0, ...found.map(({ summary }) => summary.depth));
  const isTooDeep = depth > PASS_LIMITS.maxSummaryDepth && policy.summarizer !== 'native';
  if (found.length === 0 || isTooDeep || !found.every(isModelMade)) return undefined;
  const summaries = found.map(({ summary: { text, covers, raw } }) => ({
    text: withoutUserTexts(text),
    covers,
    ...(raw === undefined ? {} : { raw }),
  }));
  return { summaries, keys: found.map(({ key }) => key), depth };
}

/** The structural summarizer stood in: its outline holds less than a model finds in the log. */
function isModelMade({ summary }: Found): boolean {
  return summary.model !== 'structural';
}

/** What was evicted is not sent. */
function opensContext(segments: Version['segments'], from: number): boolean {
  if (segments.length === 0) return from === 1;
  return segments.every((segment) => segment.from >= from || segment.kind === 'evicted');
}
