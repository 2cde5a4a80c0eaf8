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
import type { PassLook } from './pass-look.ts';
import { type TrialOutcome, tryPass } from './trial-pass.ts';
import { TrialSummaries } from './trial-summaries.ts';

/** A pass of the live policy that ended or waits to be approved, and what it had found. */
export interface MeasuredPass extends PassLook {
  readonly conversation: ConversationRef;
  readonly passId: string;
  readonly source: ContextSource;
  readonly firstUserSeq: number | undefined;
  readonly outcome: PassMeasure['outcome'];
  /** what it committed or proposed */
  readonly settled: SettledContext | undefined;
}

const MEASURED: ReadonlySet<PassMeasure['outcome']> = new Set([
  'committed',
  'proposed',
  'none',
  'no_gain',
  'infeasible',
]);

/** Whether a pass that ended so has seen a context through: what failed, or nobody wanted, says nothing of a policy. */
export function isMeasured(outcome: PassMeasure['outcome']): boolean {
  return MEASURED.has(outcome);
}

/** Measures a second policy beside the live one. */
export interface Shadow {
  /** Tells what a pass came to, and what the shadow would have made of the same context. Never fails, writes nothing. */
  measure(pass: MeasuredPass): Promise<void>;
}

export interface ShadowPorts extends Pick<SummarizationPorts, 'clock' | 'ids' | 'timers' | 'onEvent'> {
  readonly contexts: Pick<ContextReader, 'readLog' | 'readSystem'>;
  /** those of the workers, under the second policy */
  readonly agents: PreparedAgents;
  /** of which none calls a model: a measure costs nothing */
  readonly summarizers: SummarizationPorts['summarizers'];
}

/**
 * A shadow over the passes of the live policy: there the context is at hand. Turns' gates do not ask it. From the first pass
 * on that it alone would have made, its context would be another than the one that there is; when it would act is for
 * `replay` to say, which lives a conversation through under it.
 */
export function createShadow(ports: ShadowPorts): Shadow {
  let hasFailed = false;
  return {
    async measure(pass) {
      const known = ports.agents.find(pass.state.agent);
      if (known === undefined) return;
      const found = await prepareAsLastTurn(ports.contexts, pass.conversation, known);
      // As it is now: one measure counts by one calibration.
      const prepared = { ...found };
      const context = await eventLoopShare.run(buildInSlices(pass.source));
      const { conversation, passId } = pass;
      const live = measureContext(context, pass);
      try {
        const shadow = await tryShadow(ports, pass, prepared, context);
        ports.onEvent({ type: 'pass_shadowed', ...nameConversation(conversation), passId, live, shadow });
      } catch (error) {
        ports.onEvent({ type: 'pass_shadowed', ...nameConversation(conversation), passId, live });
        // What fails once may fail at every pass: counted each time, told once.
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
  // The backoff is shut for what the live policy could not do.
  const state = { ...pass.state, backoff: NO_BACKOFF };
  const summaries = new TrialSummaries({
    ...ports,
    conversation,
    prepared,
    contexts: {
      readConversation: async () => state,
      readContext: async () => source,
      readLog: (ref, ranges) => ports.contexts.readLog(ref, ranges),
    },
    onEvent: throwFailure,
  });
  const tried = await tryPass({
    prepared,
    state,
    source,
    context,
    firstUserSeq,
    refusedTokens,
    requested,
    isUnchecked: true,
    complete: (plan) => summaries.complete(plan),
  });
  const settled = tried.kind === 'version' ? tried.settled : undefined;
  return measureContext(context, { prepared, settled, outcome: outcomeOf(tried) });
}

/** Live, a summary that fails is done without; here that would be measured as the policy's doing. */
const throwFailure: EventListener = (event) => {
  if (event.type === 'worker_failed') throw event.error;
};

function outcomeOf({ kind }: TrialOutcome): PassMeasure['outcome'] {
  if (kind === 'version') return 'committed';
  return kind === 'refused' ? 'failed' : kind;
}

/** What a pass leaves of a context: without a version, the context as it was. */
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

/** The items of a context of which nothing is left in the segments; both ascend. */
function evictedItems(items: readonly ContextItem[], segments: readonly Segment[]): ContextItem[] {
  let position = 0;
  return items.filter(({ from }) => {
    while ((segments[position]?.to ?? from) < from) position += 1;
    const segment = segments[position];
    return segment?.kind === 'evicted' && segment.from <= from;
  });
}
