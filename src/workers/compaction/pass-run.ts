import { canRebase, type PassPlan, type PlanRequest, planInSlices } from '../../domain/compaction/plan.ts';
import { hasHardReason, REASONS, type Reason } from '../../domain/compaction/thresholds.ts';
import { buildInSlices, type Context, messagesOf } from '../../domain/context.ts';
import type { Policy } from '../../domain/policy.ts';
import type { ClaimedPass, PassLost } from '../../domain/ports/pass-store.ts';
import type { SummarizationTask } from '../../domain/ports/queue.ts';
import { eventLoopShare } from '../../tokens/event-loop-share.ts';
import type { PreparedAgent } from '../prepared-agent.ts';
import { summaryPolicy } from '../summary-policy.ts';
import { waitsForAnswer } from '../thinking-loop.ts';
import { findFirstUser } from '../user-messages.ts';
import { readAccepted } from './accepted-summaries.ts';
import { checkVersion } from './check-version.ts';
import { evaluateRequest } from './evaluate.ts';
import { requestFollowUp } from './follow-up.ts';
import { type EndedPass, PassEnding, type WaitingPass } from './pass-ending.ts';
import { planRequest } from './pass-findings.ts';
import { lookAtPass, type PassLook } from './pass-look.ts';
import type { CompactionPorts } from './ports.ts';
import { Review } from './review.ts';
import { settleSendable } from './settle-sendable.ts';
import { isMeasured, type MeasuredPass } from './shadow.ts';
import { childId, summaryKey } from './summary-key.ts';

/** A version that changes this often between reading and committing is not waited for. */
const MAX_TRIES = 5;

export interface FanOut {
  readonly status: 'fan_out';
  readonly children: readonly (SummarizationTask & { readonly child: string })[];
  readonly sequences: number;
}

/**
 * Which sequences without a summary get a job: those of any plan, those of a plan made in this delivery (the recorded one's
 * have had theirs), or none: settle with the summaries that are there.
 */
export type Fanning = 'any_plan' | 'new_plan' | 'never';

/** One claimed pass from evaluation to its end, or to the jobs that it has to wait for. */
export class PassRun {
  readonly #ports: CompactionPorts;
  readonly #pass: ClaimedPass;
  readonly #prepared: PreparedAgent;
  readonly #ending: PassEnding;
  #look: PassLook;
  #firstUserSeq: number | undefined;
  /** the last seq that it has looked at */
  #head: number;
  /** what it has read and made since, for a shadow */
  #made: Pick<MeasuredPass, 'source' | 'settled'> | undefined;

  constructor(ports: CompactionPorts, pass: ClaimedPass, prepared: PreparedAgent) {
    this.#ports = ports;
    this.#pass = pass;
    // As it is now: what this process learns of a model meanwhile is for the next pass. A request that joins may count more.
    this.#prepared = { ...prepared };
    this.#ending = new PassEnding(ports, pass);
    const { conversation: state, reasons: requested } = pass;
    this.#look = { state, requested, refusedTokens: undefined, prepared: this.#prepared };
    this.#head = state.head;
  }

  async advance(fanning: Fanning): Promise<FanOut | WaitingPass | EndedPass> {
    const advanced = await this.#advance(fanning);
    if (advanced.status === 'ended' && advanced.outcome !== 'superseded') {
      await requestFollowUp(this.#ports, this.#look.prepared, this.#pass.lease.conversation, this.#head);
      await this.#measure(advanced.outcome);
    }
    if (advanced.status === 'waiting') await this.#measure('proposed');
    return advanced;
  }

  /** Only now is a shadow asked: the pass has ended or waits, whatever comes of that. */
  async #measure(outcome: MeasuredPass['outcome']): Promise<void> {
    const { shadow } = this.#ports;
    if (shadow === undefined || !isMeasured(outcome) || this.#made === undefined) return;
    const { conversation, passId } = this.#pass.lease;
    const firstUserSeq = this.#firstUserSeq;
    await shadow.measure({ conversation, passId, outcome, firstUserSeq, ...this.#look, ...this.#made });
  }

  async #advance(fanning: Fanning): Promise<FanOut | WaitingPass | EndedPass> {
    const { conversation } = this.#pass.lease;
    const { review } = this.#pass;
    const reviewed = review && (await this.#conclude(review));
    if (reviewed !== undefined) return reviewed;
    this.#firstUserSeq = await findFirstUser(this.#ports.contexts, conversation, this.#pass.conversation.head);
    // A proposal that was taken away took its plan with it.
    let plan = review === undefined ? this.#pass.plan : undefined;
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const planned = plan ?? (await this.#plan());
      if (planned === undefined) continue;
      if ('status' in planned) return planned;
      this.#head = planned.head;
      const mayFanOut = fanning === 'any_plan' || (fanning === 'new_plan' && plan === undefined);
      const fanOut = mayFanOut ? await this.#fanOut(planned) : undefined;
      if (fanOut !== undefined) return fanOut;
      const ended = await this.#settle(planned);
      if (ended !== undefined) return ended;
      plan = undefined;
    }
    return await this.#ending.fail('conflict', this.#pass.reasons, this.#prepared.policy);
  }

  /** What came behind the version that was approved is looked at again once the pass has ended. */
  async #conclude(review: NonNullable<ClaimedPass['review']>): Promise<WaitingPass | EndedPass | undefined> {
    const concluded = await new Review(this.#ports, this.#pass, this.#prepared, this.#ending).conclude(review);
    if (concluded?.status === 'ended' && concluded.outcome === 'approved') this.#head = review.proposal.version.base;
    return concluded;
  }

  /**
   * Evaluates on fresh state and plans; a plan with sequences is recorded before anything is spent on it. Undefined: reasons
   * were added to a pass that was about to end for want of them.
   */
  async #plan(): Promise<PassPlan | EndedPass | undefined> {
    const { lease } = this.#pass;
    const fresh = await this.#evaluate();
    if (fresh.status !== 'evaluated') return this.#ending.lose(fresh.status);
    if (fresh.reasons.length === 0) return await this.#ending.end({ kind: 'no_reason' }, this.#look, []);
    const source = await this.#ports.contexts.readContext(lease.conversation);
    if (source === undefined) return this.#ending.lose('gone');
    this.#made = { source, settled: undefined };
    const context = await eventLoopShare.run(buildInSlices(source));
    if (waitsForAnswer(fresh.reasons, messagesOf(context))) {
      return await this.#ending.end({ kind: 'thinking' }, this.#look, fresh.reasons);
    }
    const plan = await eventLoopShare.run(planInSlices(this.#request(context, fresh.reasons)));
    if (plan.kind === 'evict' || plan.kind === 'trim') return plan;
    if (plan.kind !== 'summarize') return await this.#ending.end({ kind: plan.kind }, this.#look, fresh.reasons);
    const recorded = await this.#ports.passes.recordPlan(lease, plan);
    return recorded.status === 'recorded' ? plan : this.#ending.lose(recorded.status);
  }

  /** The reasons that hold now, those included that were added while the pass was in progress. */
  async #evaluate(): Promise<{ status: 'evaluated'; reasons: Reason[] } | PassLost> {
    const look = await lookAtPass(this.#ports, this.#pass.lease, this.#prepared);
    if ('status' in look) return look;
    this.#look = look;
    return { status: 'evaluated', reasons: evaluateRequest(look.prepared, look.state, look.requested) };
  }

  /** One job per sequence whose summary is not there yet; undefined where none is missing. */
  async #fanOut(plan: PassPlan): Promise<FanOut | undefined> {
    const { passId, conversation, owner } = this.#pass.lease;
    const keys = plan.sequences.map((sequence) => summaryKey(sequence, this.#policy));
    const known = await this.#ports.summaries.readSummaries(conversation, keys);
    const children = plan.sequences.flatMap((sequence, index) => {
      const hash = keys[index] as string;
      return known[index] === undefined
        ? [{ conversation, passId, sequence, hash, child: childId(passId, owner, hash) }]
        : [];
    });
    return children.length === 0 ? undefined : { status: 'fan_out', children, sequences: plan.sequences.length };
  }

  /** Settles over the live version and commits. Undefined: the version changed under it, or reasons came; plan again. */
  async #settle(plan: PassPlan): Promise<WaitingPass | EndedPass | undefined> {
    const { lease } = this.#pass;
    const { contexts } = this.#ports;
    const fresh = await this.#evaluate();
    if (fresh.status !== 'evaluated') return this.#ending.lose(fresh.status);
    const live = await contexts.readContext(lease.conversation);
    if (live === undefined) return this.#ending.lose('gone');
    const look = this.#look;
    if (!(await this.#fits(plan, live.version))) return undefined;
    const reasons = REASONS.filter((reason) => plan.reasons.includes(reason) || fresh.reasons.includes(reason));
    // The summaries stay where they are, for the pass that comes when the loop has ended.
    const shown = await eventLoopShare.run(buildInSlices(live));
    if (waitsForAnswer(reasons, messagesOf(shown))) {
      return await this.#ending.end({ kind: 'thinking' }, look, reasons);
    }
    // What came behind the plan stays behind the version, unless a turn waits: then all of it has to fit.
    const head = hasHardReason(reasons) ? live.head : plan.head;
    const at = { version: live.version.number, head };
    const source = live.head === head ? live : await contexts.readContext(lease.conversation, at);
    if (source === undefined) return undefined;
    this.#head = head;
    const { summaries, texts } = await readAccepted(this.#ports.summaries, lease.conversation, plan, this.#policy);
    const context = source === live ? shown : await eventLoopShare.run(buildInSlices(source));
    const settling = settleSendable(
      { ...this.#request(context, reasons), plan, summaries },
      {
        quarantine: look.state.quarantine,
        check: (made) => checkVersion(look.prepared, source, made, texts),
        onRefusal: (refusal) => this.#ending.reject(live.version.number + 1, refusal),
      },
    );
    const settled = await eventLoopShare.run(settling);
    this.#made = { source, settled: settled.kind === 'version' ? settled : undefined };
    if (settled.kind === 'refused') return await this.#ending.fail('invalid_context', reasons, this.#prepared.policy);
    const pass = { plan, settled, reasons, head, live: live.version, texts, look };
    const { mode, reviewTtl } = look.prepared.policy;
    return settled.kind === 'version' && mode === 'review' && !hasHardReason(reasons)
      ? await this.#ending.propose(pass, settled, reviewTtl)
      : await this.#ending.commit(pass);
  }

  async #fits(plan: PassPlan, live: Context['version']): Promise<boolean> {
    if (plan.version === live.number) return true;
    const planned = await this.#ports.contexts.readContext(this.#pass.lease.conversation, {
      version: plan.version,
      head: plan.head,
    });
    return planned !== undefined && canRebase(plan, planned.version, live);
  }

  #request(context: Context, reasons: readonly Reason[]): PlanRequest {
    const { prepared, refusedTokens } = this.#look;
    return planRequest(prepared, context, reasons, { firstUserSeq: this.#firstUserSeq, refusedTokens });
  }

  /** How its sequences are summarized. */
  get #policy(): Policy {
    return summaryPolicy(this.#prepared.policy, this.#look.state);
  }
}
