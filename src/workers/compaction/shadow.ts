import { requestTokens } from '../../domain/compaction/budget.ts';
import type { SettledContext } from '../../domain/compaction/settle.ts';
import { buildInSlices, type Context, type ContextItem, type ContextSource, weighItems } from '../../domain/context.ts';
import { NO_BACKOFF } from '../../domain/conversation.ts';
import type { EventListener } from '../../domain/events.ts';
import { type ConversationRef, nameConversation } from '../../domain/ids.ts';
import type { PassMeasure } from '../../domain/pass-events.ts';
import type { ContextReader } from '../../domain/ports/context-store.ts';
import type { Segment } from '../../domain/version.ts';
import { eventLoopShare } from '../../tokens/event-loop-share.ts';
import { type PreparedAgent, type PreparedAgents, prepareAsLastTurn } from '../prepared-agent.ts';
import type { SummarizationPorts } from '../summarization/ports.ts';
import type { PassSnapshot } from './pass-snapshot.ts';
import { type TrialOutcome, tryPass } from './trial-pass.ts';
import { summarizeInTrial } from './trial-summaries.ts';

/** A pass of the live policy that ended or waits for approval, with its last snapshot. */
export interface MeasuredPass extends PassSnapshot {
  readonly conversation: ConversationRef;
  readonly passId: string;
  readonly source: ContextSource;
  readonly firstUserSeq: number | undefined;
  readonly outcome: PassMeasure['outcome'];
  /** Committed or proposed context. */
  readonly settled: SettledContext | undefined;
}

const MEASURED: ReadonlySet<PassMeasure['outcome']> = new Set([
  'committed',
  'proposed',
  'none',
  'no_gain',
  'infeasible',
]);

/** Outcomes that compare policies. A failed or unwanted pass does not describe its policy. */
export function isMeasured(outcome: PassMeasure['outcome']): boolean {
  return MEASURED.has(outcome);
}

export interface Shadow {
  /** Reports the result of a pass beside the shadow's result for the same context. Never fails and writes nothing. */
  measure(pass: MeasuredPass): Promise<void>;
}

export interface ShadowPorts extends Pick<SummarizationPorts, 'clock' | 'ids' | 'timers' | 'onEvent'> {
  readonly contexts: Pick<ContextReader, 'readLog' | 'readSystem'>;
  /** The workers' agents, under the second policy. */
  readonly agents: PreparedAgents;
  /** Summarizers without a model, so that a measurement costs nothing. */
  readonly summarizers: SummarizationPorts['summarizers'];
}

/**
 * Measures only at passes of the live policy, where the context is already read. It does not answer when the second policy
 * would compact: from its first own pass on, it would work on another context. `replay` answers that.
 */
export function createShadow(ports: ShadowPorts): Shadow {
  let hasFailed = false;
  return {
    async measure(pass) {
      const known = ports.agents.find(pass.state.agent);
      if (known === undefined) return;
      const found = await prepareAsLastTurn(ports.contexts, pass.conversation, known);
      // A copy fixes the calibration for the whole measurement.
      const prepared = { ...found };
      const context = await eventLoopShare.run(buildInSlices(pass.source));
      const { conversation, passId } = pass;
      const live = measureContext(context, pass);
      try {
        const shadow = await tryShadow(ports, pass, prepared, context);
        ports.onEvent({ type: 'pass_shadowed', ...nameConversation(conversation), passId, live, shadow });
      } catch (error) {
        ports.onEvent({ type: 'pass_shadowed', ...nameConversation(conversation), passId, live });
        // A failure may repeat at every pass. Each one is counted, the first one reported.
        if (!hasFailed)
          ports.onEvent({ type: 'worker_failed', where: 'shadow', ...nameConversation(conversation), passId, error });
        hasFailed = true;
      }
    },
  };
}

async function tryShadow(
  ports: ShadowPorts,
  pass: MeasuredPass,
  prepared: PreparedAgent,
  context: Context,
): Promise<PassMeasure> {
  const { conversation, source, requested, firstUserSeq, refusedTokens } = pass;
  // The backoff follows from failures of the live policy, so it does not bind the shadow.
  const state = { ...pass.state, backoff: NO_BACKOFF };
  const contexts: SummarizationPorts['contexts'] = {
    readConversation: async () => state,
    readContext: async () => source,
    readLog: (ref, ranges) => ports.contexts.readLog(ref, ranges),
  };
  const trial = { ...ports, conversation, prepared, contexts, onEvent: throwFailure };
  const tried = await tryPass({
    prepared,
    state,
    source,
    context,
    firstUserSeq,
    refusedTokens,
    requested,
    isUnchecked: true,
    complete: (plan) => summarizeInTrial(trial, plan),
  });
  const settled = tried.kind === 'version' ? tried.settled : undefined;
  return measureContext(context, { prepared, settled, outcome: outcomeOf(tried) });
}

/** A live pass goes on without a failed summary. Here the loss would be measured as an effect of the policy. */
const throwFailure: EventListener = (event) => {
  if (event.type === 'worker_failed') throw event.error;
};

function outcomeOf({ kind }: TrialOutcome): PassMeasure['outcome'] {
  if (kind === 'version') return 'committed';
  return kind === 'refused' ? 'failed' : kind;
}

/** Measures the context after a pass. Without a version it is unchanged. */
function measureContext(
  { items, version }: Context,
  { prepared, settled, outcome }: Pick<MeasuredPass, 'prepared' | 'settled' | 'outcome'>,
): PassMeasure {
  const tokensBefore = requestTokens(prepared, weighItems(items).tokens);
  const { strategy = 'none', segments = version.segments, tokensAfter = tokensBefore } = settled ?? {};
  return {
    outcome,
    strategy,
    tokensBefore,
    tokensAfter,
    summaries: segments.filter(({ kind }) => kind === 'summary').length,
    evictedTokens: weighItems(evictedItems(items, segments)).tokens,
  };
}

/** Items of a context that the segments evict. Both lists ascend. */
function evictedItems(items: readonly ContextItem[], segments: readonly Segment[]): ContextItem[] {
  let position = 0;
  return items.filter(({ from }) => {
    while ((segments[position]?.to ?? from) < from) position += 1;
    const segment = segments[position];
    return segment?.kind === 'evicted' && segment.from <= from;
  });
}
