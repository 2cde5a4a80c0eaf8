import { clipAtWord } from '../../compaction/evidence/call-line.ts';
import { listPatchedFiles, listValues, readArguments } from '../../compaction/evidence/call-values.ts';
import { readOutcome } from '../../compaction/evidence/outcome.ts';
import { GAP } from '../../compaction/evidence/record-lines.ts';
import { CLOSING_RESULT, type Message, type ToolCall } from '../../domain/message.ts';
import { holdsData } from '../model/log-quotes.ts';
import { foldLine } from '../structural/text.ts';

/** A call of the log, and how it ended. */
export interface MadeCall {
  readonly call: ToolCall;
  /** Index of the message with the call, and the place of the call in that message. */
  readonly message: number;
  readonly place: number;
  /** Number of equal calls that ended alike in a row, this call included. */
  count: number;
  /** True if an equal call follows. */
  isRepeated: boolean;
  /** Index of the result. Absent while the call is open. */
  result?: number;
}

/** Lists the calls of messages in their order. Calls are equal if tool and arguments are. */
export function listMadeCalls(messages: readonly Message[]): MadeCall[] {
  const made: MadeCall[] = [];
  const lastEqual = new Map<string, MadeCall>();
  const callOf = new Map<string, MadeCall>();
  const before = new Map<MadeCall, MadeCall>();
  const hasFailed = (result: number): boolean => describeOutcome(messages[result] as Message).hasFailed;
  for (const [message, { toolCalls = [], toolCallId }] of messages.entries()) {
    for (const [place, call] of toolCalls.entries()) {
      const key = `${call.name} ${call.arguments}`;
      const equal = lastEqual.get(key);
      const one: MadeCall = { call, message, place, count: (equal?.count ?? 0) + 1, isRepeated: false };
      if (equal !== undefined) {
        equal.isRepeated = true;
        before.set(one, equal);
      }
      lastEqual.set(key, one);
      callOf.set(call.id, one);
      made.push(one);
    }
    const answered = toolCallId === undefined ? undefined : callOf.get(toolCallId);
    if (answered === undefined) continue;
    answered.result = message;
    const { result: last } = before.get(answered) ?? {};
    if (last !== undefined && hasFailed(last) !== hasFailed(message)) answered.count = 1;
  }
  return made;
}

export interface CallOutcome {
  readonly hasFailed: boolean;
  /** `ok`, `ok: paid` or `✗ exit code 2: make: stop`. */
  readonly text: string;
  /** Line of the result that `text` holds whole, or ''. */
  readonly line: string;
}

/** Outcome of a call that nothing answered before its turn ended. It may have taken effect. */
export const UNANSWERED: CallOutcome = { hasFailed: false, text: 'no result', line: '' };
/** Outcome of a call whose result is not shown beside it. */
export const WORKED: CallOutcome = { hasFailed: false, text: 'ok', line: '' };

/** Stands between a call and its outcome. */
const OUTCOME_MARK = '⇒';
const FAILED = '✗';
const MAX_ERROR_CHARS = 140;
const MAX_RESULT_CHARS = 40;
/** Maximum bytes of an outcome of a word or two, such as `paid`. */
const MAX_WORD_BYTES = 16;
/** Words with which an error states itself. Beside `ok`, they would read like a failure. */
const ERROR_WORD = /\b(?:errors?|fail(?:ed|ures?)?|fatal|traceback|exception|denied|not found|no such|cannot)\b/i;
/** Sentences with which tools and shells say that they did nothing. They count only in the first line of a short result. */
const REFUSAL =
  /^.{0,120}\b(?:was rejected|has been (?:unexpectedly )?modified|has not been read|no matches found|command not found|no such file or directory|permission denied|does not exist|is not (?:allowed|permitted))\b/i;
const MAX_REFUSAL_CHARS = 600;
/** A line in one pair of tags: `<error>No such order.</error>`. */
const TAGS_AROUND = /^<([\w:-]+)>(.*)<\/\1>$/;
const ERROR_START = /^[^\w.]*(?:[\w.]*error|fatal|[\w.]*exception)\b/i;

/**
 * Says how a call ended: its error, or a result that is short enough to stand beside the call. Lines of longer results
 * are left to the evidence. A line that reads like a failure never stands beside `ok`.
 */
export function describeOutcome(result: Pick<Message, 'content' | 'isError'>): CallOutcome {
  if (result.content === CLOSING_RESULT.content) return UNANSWERED;
  const { status, line } = readOutcome(result);
  const folded = foldLine(line.replace(TAGS_AROUND, '$2'));
  if (status === 'ok' && isRefusal(result.content.trim()))
    return { hasFailed: true, text: clipAtWord(folded, MAX_ERROR_CHARS), line: '' };
  if (status === 'ok') {
    const isShown = isShort(result.content, line) && tells(folded);
    return isShown ? { hasFailed: false, text: `ok: ${folded}`, line: folded } : WORKED;
  }
  const said = folded === '' ? '' : clipAtWord(folded, MAX_ERROR_CHARS);
  const named = status === 'error' ? 'error' : status.replaceAll('_', ' ');
  const text = said === '' ? named : status === 'error' && ERROR_START.test(said) ? said : `${named}: ${said}`;
  return { hasFailed: true, text: `${FAILED} ${text}`, line: said === folded ? folded : '' };
}

/** True for a result without a status that reads like a refusal. Its own words then stand for the outcome. */
function isRefusal(text: string): boolean {
  return text.length <= MAX_REFUSAL_CHARS && REFUSAL.test(text);
}

/**
 * False for `ok` itself, for prose, because a tool may pose as a person, and for a line that reads like a failure.
 */
function tells(line: string): boolean {
  const isWord = Buffer.byteLength(line) <= MAX_WORD_BYTES;
  return (isWord || holdsData(line)) && line !== '' && !/^ok\W*$/i.test(line) && !ERROR_WORD.test(line);
}

function isShort(content: string, line: string): boolean {
  return content.length <= 4 * MAX_RESULT_CHARS && line.length <= MAX_RESULT_CHARS && content.trim() === line;
}

/** Such as `⇒ ok (×3)`. A call that is repeated later has no count: the last of equal calls stands for all. */
export function writeOutcome({ count, isRepeated }: MadeCall, outcome: CallOutcome | undefined): string {
  const times = count > 1 && !isRepeated ? ` (×${count})` : '';
  return `${OUTCOME_MARK} ${(outcome ?? UNANSWERED).text}${times}`;
}

/** Names of read-only tools. Repeating their calls is harmless. */
const READ_ONLY_NAME =
  /(?:^|[_.-])(?:get|read|list|search|find|view|show|look|fetch|query|grep|glob|ls|cat|describe|check|inspect|think)(?:$|[_.-]|(?=[A-Z]))/;

export function isReadOnly({ name }: Pick<ToolCall, 'name'>): boolean {
  return READ_ONLY_NAME.test(name);
}

/** Names of arguments that say what a call does. */
const SUBJECT_KEY = /^(?:command|cmd|argv|script|code|query|sql|expression|pattern)$/i;
const WORD = /^\S+$/;
const MAX_VALUES = 16;
const MIN_CLIPPED_CHARS = 24;

/**
 * Writes tool and target of a call in one line. The value that says what the call does comes first, then words such as
 * paths and ids, then short texts. Long texts are left out, unless there is nothing else.
 */
export function nameCall(call: ToolCall, maxChars: number): { readonly text: string; readonly isWhole: boolean } {
  const values = listValues(readArguments(call), MAX_VALUES).filter(({ text }) => text.trim() !== '');
  const files = listPatchedFiles(values);
  const named = files.length === 0 ? values : [{ key: 'changes', text: files.join(' ') }, ...values];
  const ranked = named
    .map(({ key, text }, at) => ({ key, text, at, rank: rankOf(key, text) }))
    .toSorted((a, b) => a.rank - b.rank || a.at - b.at);
  const shown: { at: number; label: string; said: string }[] = [];
  let left = maxChars - call.name.length;
  let [isWhole, isCut] = [true, false];
  for (const { key, text, at, rank } of ranked) {
    const isBare = key === '' || isNamedBy(call, key) || (shown.length === 0 && isPlain(key));
    const label = isBare ? '' : `${key}: `;
    const room = left - label.length;
    const fits = text.length <= room && !text.includes('\n');
    isWhole &&= fits;
    if (!fits && (room < MIN_CLIPPED_CHARS || (rank > 0 && shown.length > 0))) {
      isCut = true;
      continue;
    }
    const said = foldLine(fits ? text : clipAtWord(text, room));
    if (said === '') continue;
    shown.push({ at: rank === 0 ? -1 : at, label, said });
    left -= label.length + said.length + 2;
  }
  shown.sort((a, b) => a.at - b.at);
  const plain = shown.filter(({ label }) => label === '').map(({ said }) => said);
  const labelled = shown.filter(({ label }) => label !== '').map(({ label, said }) => label + said);
  // Braces end the last value. Otherwise the outcome behind it would look like a part of the value.
  const inBraces = labelled.length === 0 ? [] : [`{${labelled.join(', ')}${isCut ? `, ${GAP}` : ''}}`];
  return { text: foldLine([call.name, plain.join(', '), ...inBraces].filter(Boolean).join(' ')), isWhole };
}

const MIN_THING_CHARS = 3;

/** True for `order_id` of `get_order_details`: the name of the tool says what the id names. */
function isNamedBy({ name }: ToolCall, key: string): boolean {
  const [, thing = ''] = /^([\p{L}\p{N}_]{1,60}?)_?id$/iu.exec(key) ?? [];
  return thing.length >= MIN_THING_CHARS && name.toLowerCase().includes(thing.toLowerCase());
}

/** True for a key that says nothing beside its value. */
function isPlain(key: string): boolean {
  return SUBJECT_KEY.test(key) || key === 'changes' || /path|file|url/i.test(key);
}

function rankOf(key: string, text: string): number {
  if (SUBJECT_KEY.test(key) || key === 'changes') return 0;
  return WORD.test(text) ? 1 : text.includes('\n') ? 3 : 2;
}
