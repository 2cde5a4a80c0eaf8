import type { Model } from '../../domain/model.ts';
import type { Clock } from '../../domain/ports/clock.ts';
import type { Summarizer, SummaryRequest } from '../../domain/ports/summarizer.ts';
import type { TokenCounter } from '../../domain/ports/token-counter.ts';
import type { Tracing } from '../../domain/ports/tracing.ts';
import { findArgumentLiterals } from '../structural/call-arguments.ts';
import { type CallRecord, renderCall } from '../structural/call-lines.ts';
import { readSequence } from '../structural/sequence-reader.ts';
import { renderSystem } from './instructions.ts';
import { type RecordResult, RecordWriting } from './record-writing.ts';
import { fitSections, renderSections, type Section, type Sections } from './sections.ts';

export interface ModelSummarizerOptions {
  readonly model: Model;
  readonly counter: TokenCounter;
  readonly clock: Clock;
  readonly tracing?: Tracing | undefined;
  /** Instructions from the policy, appended to the built-in ones. */
  readonly prompt?: string | undefined;
  /**
   * Timeout of one model call, in ms. A compaction waits a minute for its summaries, and a fallback summarizer needs
   * part of it. Default 40,000.
   */
  readonly callTimeoutMs?: number;
}

const CALL_TIMEOUT_MS = 40_000;
/** Minimum token limit of a summary. With fewer tokens, a section has room for hardly a sentence. */
const MIN_TOKENS = 100;
/** Number of tokens that are kept of the user's request, because a user message may have a megabyte. */
const MAX_USER_REQUEST_TOKENS = 1_000;
/** How often the input is halved when the provider refuses it as too large. */
const MAX_HALVINGS = 3;

/**
 * Creates a summarizer that uses a model. The model writes a summary of several sections, and code adds sections about
 * the tool calls. Messages that do not fit into the model's window are split, summarized in parts and merged. An answer
 * that is no summary of its input is refused.
 */
export function createModelSummarizer(options: ModelSummarizerOptions): Summarizer {
  const { model, counter, prompt, callTimeoutMs: timeoutMs = CALL_TIMEOUT_MS } = options;
  const system = renderSystem(prompt);
  return {
    id: model.profile.id,
    async summarize(request) {
      if (request.maxTokens < MIN_TOKENS) {
        return { status: 'unfit', why: `a limit of ${request.maxTokens} tokens is too small for a summary` };
      }
      const facts = await readCallFacts(counter, request);
      const maxTokens = request.maxTokens - (await counter.count(`${renderSections(facts)}\n`));
      const userRequest =
        request.userRequest === undefined
          ? undefined
          : await counter.clipStart(request.userRequest, MAX_USER_REQUEST_TOKENS);
      const writing = new RecordWriting({
        ...options,
        timeoutMs,
        system,
        request: { ...request, userRequest },
        maxTokens,
      });
      const written = await writeHalving(writing);
      if (written.status === 'overflow')
        return { status: 'refused', why: "even a part of the messages does not fit into the model's window" };
      if (written.status !== 'written') return written;
      const text = await renderWithin(counter, request.maxTokens, { sections: written.sections, facts });
      return text === undefined
        ? {
            status: 'refused',
            why: `a limit of ${request.maxTokens} tokens is too small for any section of the summary`,
          }
        : { status: 'written', text, isUpdate: written.isUpdate };
    },
  };
}

/**
 * Renders a summary of at most `maxTokens`.
 * @returns undefined if none of the model's sections fits beside the sections that code writes
 */
async function renderWithin(
  counter: TokenCounter,
  maxTokens: number,
  { sections, facts }: { readonly sections: Sections; readonly facts: Sections },
): Promise<string | undefined> {
  let room = maxTokens - (await counter.count(`${renderSections(facts)}\n`));
  for (;;) {
    const fitted = await fitSections(counter, sections, room);
    if (fitted.size === 0) return undefined;
    const text = renderSections(new Map([...fitted, ...facts]));
    // A joined text may have a token or two more than the sum of its sections.
    const excess = (await counter.count(text)) - maxTokens;
    if (excess <= 0) return text;
    room -= excess;
  }
}

/**
 * Starts with as much input as the model's window allows, and halves the input while the provider refuses it as too
 * large.
 */
async function writeHalving(writing: RecordWriting): Promise<RecordResult> {
  let inputTokens = await writing.measureInput();
  for (let halvings = 0; ; halvings += 1) {
    const written = await writing.write(inputTokens);
    if (written.status !== 'overflow' || halvings === MAX_HALVINGS) return written;
    inputTokens = Math.floor(Math.min(inputTokens, written.tokens) / 2);
  }
}

/** Maximum shares of the summary's token limit for the sections that code writes. */
const ARTIFACTS_SHARE = 0.12;
const EFFECTS_SHARE = 0.25;
const LINE_CHARS = 160;
/** Matches the names of read-only tools. Repeating their calls is harmless, so they are listed after other calls. */
const READ_ONLY_NAME =
  /(?:^|[_.-])(?:get|read|list|search|find|view|show|look|fetch|query|grep|glob|ls|cat|describe|check|inspect|think)(?:$|[_.-]|(?=[A-Z]))/;

/**
 * Reads from the log which paths and ids the tool calls used, and how each call ended. A list that a model writes could
 * be wrong: the agent might repeat an action, or believe that an action was done.
 */
async function readCallFacts(
  counter: TokenCounter,
  { messages, signal, maxTokens }: Pick<SummaryRequest, 'messages' | 'signal' | 'maxTokens'>,
): Promise<Sections> {
  const { calls } = await readSequence({ messages, signal });
  const newestFirst = calls.toSorted((a, b) => b.position - a.position);
  const artifacts = takeArtifacts(counter, newestFirst, Math.floor(maxTokens * ARTIFACTS_SHARE));
  const effects = takeEffects(counter, newestFirst, Math.floor(maxTokens * EFFECTS_SHARE));
  const sections: [Section, string][] = [
    ['artifacts', artifacts.join(', ')],
    ['effects', effects.join('\n')],
  ];
  return new Map(sections.filter(([, text]) => text !== ''));
}

function takeArtifacts(counter: TokenCounter, calls: readonly CallRecord[], maxTokens: number): string[] {
  return takeFitting(counter, findNamed(calls), maxTokens);
}

function* findNamed(calls: readonly CallRecord[]): Generator<string> {
  const named = new Set<string>();
  for (const call of calls) {
    for (const { text, kind } of findArgumentLiterals(call.arguments)) {
      if ((kind !== 'path' && kind !== 'id') || named.has(text)) continue;
      named.add(text);
      yield text;
    }
  }
}

function isReadOnly({ name }: CallRecord): boolean {
  return READ_ONLY_NAME.test(name);
}

/** Lists tool calls in order. If not all fit into the token limit, read-only calls are left out first. */
function takeEffects(counter: TokenCounter, calls: readonly CallRecord[], maxTokens: number): string[] {
  const ranked = [...calls.filter((call) => !isReadOnly(call)), ...calls.filter(isReadOnly)];
  const lines = takeFitting(
    counter,
    ranked.values().map((call) => `- ${renderCall(call, LINE_CHARS)}`),
    maxTokens,
  );
  const listed = ranked
    .slice(0, lines.length)
    .map(({ position }, index) => ({ position, line: lines[index] as string }))
    .toSorted((a, b) => a.position - b.position)
    .map(({ line }) => line);
  const left = ranked.length - listed.length;
  return left === 0 || listed.length === 0 ? listed : [...listed, `- and ${left} more`];
}

/**
 * Takes texts until the next one exceeds the token limit. Later texts are not rendered, because rendering a call reads
 * its whole result.
 */
function takeFitting(counter: TokenCounter, texts: Iterable<string>, maxTokens: number): string[] {
  const taken: string[] = [];
  let left = maxTokens;
  for (const text of texts) {
    left -= counter.countSync(text) + 1;
    if (left < 0) break;
    taken.push(text);
  }
  return taken;
}
