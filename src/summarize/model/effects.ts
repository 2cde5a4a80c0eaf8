import { briefCall, clipAtWord } from '../../compaction/evidence/call-line.ts';
import { readOutcome } from '../../compaction/evidence/outcome.ts';
import type { Message, ToolCall } from '../../domain/message.ts';
import type { TokenCounter } from '../../wire/tokens/token-counter.ts';
import { foldLine } from '../structural/text.ts';
import { holdsData } from './log-quotes.ts';
import { describeAttachments } from './pictures.ts';

interface MadeCall {
  readonly call: ToolCall;
  count: number;
  position: number;
  /** Result of the last of `count` equal calls. Absent while that call is open. */
  result?: Message | undefined;
}

const CALL_CHARS = 120;
const OUTCOME_CHARS = 100;
/** Names of read-only tools. Repeating their calls is harmless, so a list has them only if there is room. */
export const READ_ONLY_NAME =
  /(?:^|[_.-])(?:get|read|list|search|find|view|show|look|fetch|query|grep|glob|ls|cat|describe|check|inspect|think)(?:$|[_.-]|(?=[A-Z]))/;

/** Code lists the calls: after a wrong list, the agent would repeat an action. Read-only calls are left out first. */
export function listEffects(counter: TokenCounter, messages: readonly Message[], maxTokens: number): string[] {
  const newestFirst = readCalls(messages).toSorted((a, b) => b.position - a.position);
  const ranked = [...newestFirst.filter((made) => !isReadOnly(made)), ...newestFirst.filter(isReadOnly)];
  const taken: { readonly position: number; readonly line: string }[] = [];
  let left = maxTokens;
  for (const made of ranked) {
    const line = `- ${renderCall(made)}`;
    left -= counter.countSync(line) + 1;
    if (left < 0) break;
    taken.push({ position: made.position, line });
  }
  const lines = taken.toSorted((a, b) => a.position - b.position).map(({ line }) => line);
  const more = ranked.length - lines.length;
  return more === 0 || lines.length === 0 ? lines : [...lines, `- and ${more} more`];
}

function isReadOnly({ call }: MadeCall): boolean {
  return READ_ONLY_NAME.test(call.name);
}

function readCalls(messages: readonly Message[]): MadeCall[] {
  const calls = new Map<string, MadeCall>();
  const callOf = new Map<string, MadeCall>();
  for (const [position, message] of messages.entries()) {
    for (const call of message.toolCalls ?? []) {
      const key = `${call.name} ${call.arguments}`;
      const made = calls.get(key) ?? { call, count: 0, position };
      made.count += 1;
      made.position = position;
      made.result = undefined;
      calls.set(key, made);
      callOf.set(call.id, made);
    }
    const answered = message.toolCallId === undefined ? undefined : callOf.get(message.toolCallId);
    if (answered !== undefined) Object.assign(answered, { result: message, position });
  }
  return [...calls.values()];
}

function renderCall({ call, count, result }: MadeCall): string {
  const said = foldLine(briefCall(call, CALL_CHARS));
  return `${said}${count > 1 ? ` ×${count}` : ''} → ${result === undefined ? 'no result' : renderOutcome(result, call)}`;
}

/** Maximum bytes of an outcome of a word or two, such as `paid`. */
const SHORT_BYTES = 16;

/** Leaves out prose of a call that succeeded, because a tool may pose as a person. */
function renderOutcome(result: Message, call: ToolCall): string {
  const { status, line } = readOutcome(result);
  const shown = line === '' ? (describeAttachments(result, undefined, call)[0] ?? '') : line;
  const said = foldLine(clipAtWord(shown, OUTCOME_CHARS));
  const isShown = status !== 'ok' || holdsData(said) || Buffer.byteLength(said) <= SHORT_BYTES;
  return said === '' || !isShown ? status : `${status}: ${said}`;
}
