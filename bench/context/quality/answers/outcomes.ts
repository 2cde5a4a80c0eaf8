import type { LoggedCall, SourceLog } from './log.ts';
import type { StatedCall } from './stated-calls.ts';
import { type AskedQuestion, type ContextText, gradeAll, gradeOne, type Topic } from './topic.ts';

/** The newest calls with different targets are asked. */
const MAX_CALLS = 15;
const MAX_ASKED = 8;

type TargetedCall = LoggedCall & { readonly target: string };

/** How the last calls ended: whether a context knows that, and whether it knows which of them failed. */
export function findOutcomes({ calls }: SourceLog): Topic | undefined {
  const last = listLastCalls(calls);
  if (last.length === 0) return undefined;
  return {
    grade: (context) => {
      const beliefs = last.map((call) => ({ call, belief: findBelief(context, call.target) }));
      const failed = beliefs.filter(({ call }) => call.hasFailed);
      const outcome = gradeAll(beliefs.map(({ call, belief }) => compare(belief, call.hasFailed)));
      const failure = gradeAll(failed.map(({ belief }) => compare(belief, true)));
      return { outcome, ...(failed.length === 0 ? {} : { failure }) };
    },
    asked: chooseAsked(last).map(askOutcome),
  };
}

/** The last call of each target, oldest first. */
function listLastCalls(calls: readonly LoggedCall[]): TargetedCall[] {
  const last = new Map<string, TargetedCall>();
  for (const call of calls) {
    const { target } = call;
    if (target === undefined) continue;
    last.delete(target);
    last.set(target, { ...call, target });
  }
  return [...last.values()].slice(-MAX_CALLS);
}

/** All failed calls first, because they are few. */
function chooseAsked(calls: readonly TargetedCall[]): TargetedCall[] {
  const newest = calls.toReversed();
  const [failed, worked] = [newest.filter(({ hasFailed }) => hasFailed), newest.filter(({ hasFailed }) => !hasFailed)];
  const half = Math.max(MAX_ASKED / 2, MAX_ASKED - worked.length);
  const chosen = failed.slice(0, half);
  return [...chosen, ...worked.slice(0, MAX_ASKED - chosen.length)];
}

function askOutcome({ call, target, hasFailed }: TargetedCall): AskedQuestion {
  return {
    kinds: hasFailed ? ['outcome', 'failure'] : ['outcome'],
    text: `Did the last call of ${call.name} with "${target}" work? Write "worked" or "failed".`,
    grade: (answer) => {
      const [said] = /\b(?:worked|failed)\b/i.exec(answer) ?? [];
      const isFailed = said === undefined ? undefined : said.toLowerCase() === 'failed';
      return gradeOne(isFailed === hasFailed, isFailed !== undefined && isFailed !== hasFailed);
    },
  };
}

const FAILURE_WORDS = [
  String.raw`\b(?:errors?|failed|failure|fatal|traceback|exception|denied|not found|no such file|cannot)\b`,
  String.raw`\b(?:exit code|code:) [1-9]\b`,
  'returncode>[1-9]',
  'FAILED|AssertionError',
  String.raw`return[ _]?code\W{0,3}[1-9]`,
  String.raw`exit(?:ed)?(?: with)?(?: code| status)\W{0,3}[1-9]`,
].join('|');
const FAILURE = new RegExp(FAILURE_WORDS, 'i');
/** In a longer result, only its beginning and its end tell how the call ended. */
const LONG_RESULT_CHARS = 1_200;
const REACH = 300;

/** @returns true if the context says that the call failed, and undefined if it does not know the call */
function findBelief({ text, calls }: ContextText, target: string): boolean | undefined {
  const stated = calls.findLast((call) => call.text.includes(target));
  if (stated !== undefined) return saysFailed(stated);
  const at = text.lastIndexOf(target);
  if (at === -1) return undefined;
  const end = at + target.length;
  return FAILURE.test(text.slice(end, end + REACH));
}

function saysFailed({ isMarked, result }: StatedCall): boolean {
  if (isMarked || result === undefined) return isMarked;
  const half = LONG_RESULT_CHARS / 2;
  const ends = result.length > LONG_RESULT_CHARS ? result.slice(0, half) + result.slice(-half) : result;
  return FAILURE.test(ends);
}

function compare(belief: boolean | undefined, truth: boolean): 'right' | 'wrong' | undefined {
  if (belief === undefined) return undefined;
  return belief === truth ? 'right' : 'wrong';
}
