import { isSendable, type Reason } from '../domain/compaction/thresholds.ts';
import type { WeighedMessage } from '../domain/message.ts';
import { contextSize } from '../domain/size.ts';
import type { PreparedAgent } from '../workers/prepared-agent.ts';
import { decideStep, decideTurnEnd } from '../workers/turn/threshold-check.ts';
import { OfflinePasses, type SummarizerChain } from './offline-pass.ts';

import { type Cost, PromptCache } from './prompt-cache.ts';
import { RecallMeter, type RecallScore } from './recall.ts';
import { RequestCheck } from './request-check.ts';

/** What living a conversation through again under a policy came to. Tokens are means of whole requests. */
export interface ReplayFigures {
  /** one before each assistant message */
  readonly requests: number;
  /** whose upper bound is above the usable window: a provider could refuse them */
  readonly overLimit: number;
  /** that break a rule of one of the formats, of those that were checked */
  readonly invalid: number;
  /** versions committed */
  readonly compactions: number;
  readonly tokensSent: number;
  readonly tokensPeak: number;
  /** of the request that would come next */
  readonly tokensEnd: number;
  readonly recall: RecallScore;
  /** where the model has prices */
  readonly cost?: Cost;
}

export interface Replayed {
  readonly figures: ReplayFigures;
  /** tokens of each request, in order */
  readonly sizes: readonly number[];
}

/** Lives one recorded conversation through again, compacting as live workers would. */
export class Replay {
  readonly #prepared: PreparedAgent;
  readonly #passes: OfflinePasses;
  readonly #recall: RecallMeter;
  readonly #cache: PromptCache | undefined;
  readonly #check = new RequestCheck();
  readonly #sizes: number[] = [];
  #overLimit = 0;
  #compactions = 0;

  constructor(messages: readonly WeighedMessage[], prepared: PreparedAgent, summarizers: SummarizerChain) {
    this.#prepared = prepared;
    this.#passes = new OfflinePasses('offline', prepared, summarizers);
    this.#recall = new RecallMeter(messages, prepared.policy);
    const { prices } = prepared.agent.model.profile;
    this.#cache = prices === undefined ? undefined : new PromptCache(prices);
  }

  async add(weighed: WeighedMessage): Promise<void> {
    const { conversation } = this.#passes;
    const { role, toolCalls } = weighed.message;
    if (role !== 'assistant') return this.#append(weighed);
    const asked = await this.#request(weighed);
    // A soft pass runs behind the request that asked for it: over the log as it was before the answer.
    if (asked.length > 0) await this.#pass(asked);
    this.#append(weighed);
    if (toolCalls !== undefined) return;
    const { reasons } = decideTurnEnd(this.#prepared, conversation.state);
    if (reasons.length > 0) await this.#pass(['turn_end']);
  }

  /** What it came to, once the last message was added; where a request would come next, its backoff is passed. */
  async end(): Promise<Replayed> {
    const { last, state } = this.#passes.conversation;
    if (last !== undefined && last.message.role !== 'assistant') {
      const decision = decideStep(this.#prepared, state, true);
      if (decision.kind !== 'refuse' && decision.reasons.length > 0) await this.#pass(decision.reasons);
    }
    this.#check.end();
    const sizes = this.#sizes;
    return {
      sizes,
      figures: {
        requests: sizes.length,
        overLimit: this.#overLimit,
        invalid: this.#check.invalid,
        compactions: this.#compactions,
        tokensSent: sizes.reduce((sum, tokens) => sum + tokens, 0),
        tokensPeak: sizes.reduce((most, tokens) => Math.max(most, tokens), 0),
        tokensEnd: this.#tokens,
        recall: this.#recall.recall,
        ...(this.#cache === undefined ? {} : { cost: this.#cache.cost }),
      },
    };
  }

  #append(weighed: WeighedMessage): void {
    this.#passes.conversation.append(weighed);
    this.#check.note(weighed.message);
  }

  get #tokens(): number {
    return contextSize(this.#passes.conversation.state.size, this.#prepared.overhead).tokens;
  }

  /** The model step that brought `answer`: backoff, wait for a hard pass, send. @returns why a soft pass is asked for */
  async #request(answer: WeighedMessage): Promise<readonly Reason[]> {
    const { conversation } = this.#passes;
    const decision = decideStep(this.#prepared, conversation.state, true);
    if (decision.kind === 'wait') await this.#pass(decision.reasons);
    const tokens = this.#tokens;
    const { items } = conversation.context;
    this.#sizes.push(tokens);
    if (!isSendable(this.#prepared.limits, tokens)) this.#overLimit += 1;
    this.#check.add(conversation.context);
    this.#recall.measure(conversation, tokens);
    this.#cache?.add(items, tokens, answer.tokens);
    return decision.kind === 'send' ? decision.reasons : [];
  }

  async #pass(requested: readonly Reason[]): Promise<void> {
    const { kind } = await this.#passes.run(requested);
    if (kind === 'version') this.#compactions += 1;
  }
}
