import { type Context, weighItems } from '../compaction/context.ts';
import type { SettledContext } from '../compaction/settle.ts';
import { isSendable } from '../compaction/thresholds.ts';
import type { Message, WeighedMessage } from '../domain/message.ts';
import type { Reason } from '../domain/pass.ts';
import { WIRE_FORMATS } from '../domain/raw-items.ts';
import { contextSize } from '../domain/size.ts';
import { wireFormats } from '../wire/formats.ts';
import type { TrialOutcome } from '../workers/compaction/trial-pass.ts';
import type { PreparedAgent } from '../workers/prepared-agent.ts';
import { decideStep, decideTurnEnd } from '../workers/turn/step-decision.ts';
import { EvaluatedPasses, type SummarizerChain } from './evaluated-passes.ts';
import { PromptCache, type ReplayCost } from './prompt-cache.ts';
import { RecallMeter, type RecallScore } from './recall.ts';

/** Figures of one conversation, replayed under a policy. Token counts are estimates of whole requests. */
export interface ReplayFigures {
  /** Number of requests, one before each answer. Assistant messages in a row are one answer. */
  readonly requests: number;
  /** Requests whose upper bound exceeds the usable window, so that a provider could refuse them. */
  readonly overLimit: number;
  /** Checked requests that break a rule of a provider's format. */
  readonly invalid: number;
  readonly compactions: number;
  readonly tokensSent: number;
  readonly tokensPeak: number;
  /** Tokens of the request that would follow the last message. */
  readonly tokensEnd: number;
  readonly recall: RecallScore;
  /** Sums over all compactions: `bytes` before, `kept` at the unchanged start, and `cheapest`, the most it could keep. */
  readonly prefix: { readonly bytes: number; readonly kept: number; readonly cheapest: number };
  /** Undefined if the prices of the model are not known. */
  readonly cost?: ReplayCost;
}

/** A version that went live in the replay. Token counts are estimates of the whole request. */
interface ReplayedVersion {
  readonly number: number;
  readonly requestsBefore: number;
  readonly reasons: readonly Reason[];
  readonly strategy: SettledContext['strategy'];
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  readonly archived: number;
}

export interface Replayed {
  readonly figures: ReplayFigures;
  /** Tokens of each request, in order. */
  readonly sizes: readonly number[];
  /** Number of the turn of each request. */
  readonly turns: readonly number[];
  readonly versions: readonly ReplayedVersion[];
}

/**
 * Replays one recorded conversation message by message. The workers' code decides when to compact, and runs the passes.
 */
export class Replay {
  readonly #prepared: PreparedAgent;
  readonly #onPass: (outcome: TrialOutcome) => void;
  readonly #passes: EvaluatedPasses;
  readonly #recall: RecallMeter;
  readonly #cache: PromptCache | undefined;
  readonly #check = new RequestCheck();
  readonly #sizes: number[] = [];
  readonly #turns: number[] = [];
  readonly #versions: ReplayedVersion[] = [];
  #turn = 0;
  #overLimit = 0;
  readonly #prefix = { bytes: 0, kept: 0, cheapest: 0 };

  /** @param onPass called after each pass, with the end of the pass */
  constructor(
    messages: readonly WeighedMessage[],
    prepared: PreparedAgent,
    summarizers: SummarizerChain,
    onPass: (outcome: TrialOutcome) => void = () => undefined,
  ) {
    this.#prepared = prepared;
    this.#onPass = onPass;
    this.#passes = new EvaluatedPasses(prepared, summarizers);
    this.#recall = new RecallMeter(messages, prepared.policy);
    const { prices } = prepared.agent.model.profile;
    this.#cache = prices === undefined ? undefined : new PromptCache(prices);
  }

  async add(weighed: WeighedMessage): Promise<void> {
    const { conversation } = this.#passes;
    const { role, toolCalls } = weighed.message;
    if (role !== 'assistant') return this.#append(weighed);
    const asked = await this.#startAnswer(weighed);
    // This pass runs beside the model call, because no turn waits for the pass. So the pass does not see the answer.
    if (asked.length > 0) await this.#pass(asked);
    this.#append(weighed);
    if (toolCalls !== undefined) return;
    const { reasons } = decideTurnEnd(this.#prepared, conversation.state);
    if (reasons.length > 0) await this.#pass(['turn_end']);
  }

  /**
   * Ends the replay. If the conversation would continue with a request, the threshold check of that request still runs.
   */
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
      turns: this.#turns,
      versions: this.#versions,
      figures: {
        requests: sizes.length,
        overLimit: this.#overLimit,
        invalid: this.#check.invalid,
        compactions: this.#versions.length,
        tokensSent: sizes.reduce((sum, tokens) => sum + tokens, 0),
        tokensPeak: sizes.reduce((most, tokens) => Math.max(most, tokens), 0),
        tokensEnd: this.#tokens,
        recall: this.#recall.recall,
        prefix: { ...this.#prefix },
        ...(this.#cache === undefined ? {} : { cost: this.#cache.cost }),
      },
    };
  }

  #append(weighed: WeighedMessage): void {
    this.#passes.conversation.append(weighed);
    if (weighed.message.role === 'user') this.#turn += 1;
    this.#check.observe(weighed.message);
  }

  get #tokens(): number {
    return contextSize(this.#passes.conversation.state.size, this.#prepared.overhead).tokens;
  }

  /**
   * Starts an answer. An assistant message directly after one without tool calls continues that answer, so it has no
   * request.
   */
  async #startAnswer(weighed: WeighedMessage): Promise<readonly Reason[]> {
    const { last } = this.#passes.conversation;
    const isFurtherPart = last?.message.role === 'assistant' && last.message.toolCalls === undefined;
    if (!isFurtherPart) return await this.#request(weighed);
    this.#cache?.addOutput(weighed.tokens);
    return [];
  }

  /**
   * Replays the step that returned `answer`: threshold check, compaction if the turn waits for it, and request.
   * @returns reasons for a pass for which the turn does not wait
   */
  async #request(answer: WeighedMessage): Promise<readonly Reason[]> {
    const { conversation } = this.#passes;
    const decision = decideStep(this.#prepared, conversation.state, true);
    if (decision.kind === 'wait') await this.#pass(decision.reasons);
    const tokens = this.#tokens;
    const { items } = conversation.context;
    this.#sizes.push(tokens);
    this.#turns.push(this.#turn);
    if (!isSendable(this.#prepared.limits, tokens)) this.#overLimit += 1;
    this.#check.add(conversation.context);
    this.#cache?.add(items, tokens, answer.tokens);
    return decision.kind === 'send' ? decision.reasons : [];
  }

  async #pass(requested: readonly Reason[]): Promise<void> {
    const { bytes } = weighItems(this.#passes.conversation.context.items);
    const outcome = await this.#passes.run(requested);
    this.#onPass(outcome);
    if (outcome.kind !== 'version') return;
    this.#keepVersion(outcome);
    const { kept, cheapest } = outcome.settled.prefix;
    this.#prefix.bytes += bytes;
    this.#prefix.kept += kept.bytes;
    this.#prefix.cheapest += cheapest.bytes;
    this.#recall.measure(this.#passes.conversation, this.#tokens);
  }

  #keepVersion({ reasons, settled }: Extract<TrialOutcome, { kind: 'version' }>): void {
    const { strategy, tokensBefore, tokensAfter, archived } = settled;
    this.#versions.push({
      number: this.#passes.conversation.context.version.number,
      requestsBefore: this.#sizes.length,
      reasons,
      strategy,
      tokensBefore,
      tokensAfter,
      archived,
    });
  }
}

/**
 * Counts requests that break a rule of a provider's format. Checks the last request of each version, and requests that
 * end in unanswered calls or an assistant message. Other requests are beginnings of a checked one.
 */
class RequestCheck {
  readonly #openCalls = new Set<string>();
  /** Last request of the current version, if it is not checked yet. */
  #last: Context | undefined;
  #invalid = 0;

  observe({ toolCalls = [], toolCallId }: Message): void {
    for (const { id } of toolCalls) this.#openCalls.add(id);
    if (toolCallId !== undefined) this.#openCalls.delete(toolCallId);
  }

  add({ version, head, items }: Context): void {
    if (this.#last?.version.number !== version.number) this.end();
    // The items are copied, because the list grows with the log.
    this.#last = { version, head, items: items.slice() };
    const endsAsUsual = this.#openCalls.size === 0 && items.at(-1)?.message.role !== 'assistant';
    if (!endsAsUsual) this.end();
  }

  end(): void {
    if (this.#last !== undefined && !isValid(this.#last)) this.#invalid += 1;
    this.#last = undefined;
  }

  get invalid(): number {
    return this.#invalid;
  }
}

function isValid({ version, items }: Context): boolean {
  const messages = items.map(({ message }) => message);
  const request = { model: 'offline', system: '', tools: [], messages, version: version.number, maxOutputTokens: 1 };
  return WIRE_FORMATS.every((format) => {
    const { render, validate } = wireFormats[format];
    return validate(render(request).body).length === 0;
  });
}
