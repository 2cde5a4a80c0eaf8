import { requestTokensOf } from '../../compaction/budget.ts';
import { buildInSlices, type Context, weighItems } from '../../compaction/context.ts';
import type { SettledContext } from '../../compaction/settle.ts';
import type { ContextSource } from '../../domain/context-source.ts';
import { NO_BACKOFF } from '../../domain/conversation.ts';
import type { EventListener } from '../../domain/events.ts';
import { type ConversationRef, nameConversation } from '../../domain/ids.ts';
import type { PassMeasure } from '../../domain/pass-events.ts';
import type { ContextItem, Segment } from '../../domain/version.ts';
import type { ContextReader } from '../../store/contexts.ts';
import { eventLoopShare } from '../../wire/tokens/event-loop-share.ts';
import { type PreparedAgent, type PreparedAgents, prepareAsLastTurn } from '../prepared-agent.ts';
import type { SummarizationPorts } from '../worker-ports.ts';
import type { PassSnapshot } from './pass-snapshot.ts';
import { summarizeInTrial, type TrialOutcome, tryPass } from './trial-pass.ts';

/** A live pass that has ended or waits for approval, with the state that the pass read last. */
export interface MeasuredPass extends PassSnapshot {
  readonly conversation: ConversationRef;
  readonly passId: string;
  readonly source: ContextSource;
  readonly firstUserSeq: number | undefined;
  readonly outcome: PassMeasure['outcome'];
  readonly settled: SettledContext | undefined;
}

const MEASURED: ReadonlySet<PassMeasure['outcome']> = new Set([
  'committed',
  'proposed',
  'none',
  'no_gain',
  'infeasible',
]);

/** A failed pass, or a pass without a reason, shows nothing about its policy, so it is not measured. */
export function isMeasured(outcome: PassMeasure['outcome']): boolean {
  return MEASURED.has(outcome);
}

export interface Shadow {
  /** Reports the results of both policies for the same context. Writes nothing to the store. */
  measure(pass: MeasuredPass): Promise<void>;
}

interface ShadowPorts extends Pick<SummarizationPorts, 'clock' | 'ids' | 'timers' | 'onEvent'> {
  readonly contexts: Pick<ContextReader, 'readLog' | 'readSystem' | 'readOwn'>;
  readonly agents: PreparedAgents;
  /** Summarizers that call no model, so that a measurement costs nothing. */
  readonly summarizers: SummarizationPorts['summarizers'];
}

/**
 * Measures a second policy at passes of the live policy. This cannot show when the second policy would compact, because
 * after its own first pass the context would differ. The command `replay` shows that.
 */
export function createShadow(ports: ShadowPorts): Shadow {
  let hasFailed = false;
  return {
    async measure(pass) {
      const known = ports.agents.find(pass.state.agent);
      if (known === undefined) return;
      const found = await prepareAsLastTurn(ports.contexts, pass.conversation, known);
      // A copy, so that one calibration factor holds for the whole measurement.
      const prepared = { ...found };
      const context = await eventLoopShare.run(buildInSlices(pass.source));
      const { conversation, passId } = pass;
      const live = measureContext(context, pass);
      try {
        const shadow = await tryShadow(ports, pass, prepared, context);
        ports.onEvent({ type: 'pass_shadowed', ...nameConversation(conversation), passId, live, shadow });
      } catch (error) {
        ports.onEvent({ type: 'pass_shadowed', ...nameConversation(conversation), passId, live });
        // The same failure may come with every pass. Each failure is counted, but only the first is reported.
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
  // The shadow pass starts without a backoff, because the backoff results from the live policy.
  const state = { ...pass.state, backoff: NO_BACKOFF };
  const contexts: SummarizationPorts['contexts'] = {
    readConversation: async () => state,
    readContext: async () => source,
    readLog: (ref, ranges) => ports.contexts.readLog(ref, ranges),
    readSystem: (ref) => ports.contexts.readSystem(ref),
    readOwn: (ref) => ports.contexts.readOwn(ref),
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

/** A live pass continues without a failed summary. Here, the gap would look like an effect of the shadow policy. */
const throwFailure: EventListener = (event) => {
  if (event.type === 'worker_failed') throw event.error;
};

function outcomeOf({ kind }: TrialOutcome): PassMeasure['outcome'] {
  if (kind === 'version') return 'committed';
  return kind === 'refused' ? 'failed' : kind;
}

/** Measures the context of a result. Without a version, the context is unchanged. */
function measureContext(
  { items, version }: Context,
  { prepared, settled, outcome }: Pick<MeasuredPass, 'prepared' | 'settled' | 'outcome'>,
): PassMeasure {
  const tokensBefore = requestTokensOf(prepared, items);
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

/** Items of the context that a version evicts. Both lists are sorted by seq. */
function evictedItems(items: readonly ContextItem[], segments: readonly Segment[]): ContextItem[] {
  let position = 0;
  return items.filter(({ from }) => {
    while ((segments[position]?.to ?? from) < from) position += 1;
    const segment = segments[position];
    return segment?.kind === 'evicted' && segment.from <= from;
  });
}
