import type { z } from 'zod';
import type { OutputPart, ToolOutput } from '../../domain/agent.ts';
import { fieldError, type TurnfoldError } from '../../domain/errors.ts';
import { parseInput } from '../../domain/parse.ts';
import { readResultParts } from '../../domain/result-parts.ts';
import type { RecordedDecision } from '../../domain/turn.ts';
import type { AnswerResult, StoredAnswer } from '../../store/turn-answers.ts';
import { bytesOfMessage, countMessage } from '../../wire/tokens/message-tokens.ts';
import type { TokenCounter } from '../../wire/tokens/token-counter.ts';
import { answerOptionsSchema, answersSchema, type CallAnswer } from '../contract/call-answers.ts';
import type { Methods } from '../contract/client.ts';
import { readConversationName, readTurnId } from '../contract/names.ts';
import { checkDurability, noTurn } from './client-errors.ts';
import { hashPayload } from './payload-hash.ts';
import type { ClientPorts } from './ports.ts';
import { checkBytes } from './weigh-message.ts';

export const answerMethods = {
  /**
   * @returns `answered` if the turn waits for no further call, also for a repeated call
   * @throws invalid_input, with field `answers.<call>`, if a call needs an approval and got a result, or the reverse
   * @throws conflict if the turn does not wait for a call, the hash names another call, or a call has another answer.
   * `details.decision` is then the answer that counts
   * @throws not_found, message_too_large above 1 MiB, accepted_unsure
   */
  answer: async (ports, ...[name, turn, answers, options = {}]) => {
    const conversation = readConversationName(name);
    const { request } = parseInput(answerOptionsSchema, options);
    const { agent = '' } = (await ports.contexts.readConversation(conversation)) ?? {};
    const result = await ports.turns.answerTurn({
      conversation,
      turn: readTurnId(turn),
      answers: await readAnswers(await ports.counterFor(agent), answers),
      wake: ports.ids.next(),
      request,
    });
    if ('call' in result) throw refuseAnswer(turn, result);
    if (result.status !== 'answered' && result.status !== 'still_waiting') throw noTurn(conversation, turn);
    if ('wake' in result && result.wake !== undefined) await ports.wakes.wake('turn', conversation, result.wake);
    checkDurability(result, { field: 'turn', id: turn });
    return result.status;
  },
} satisfies Methods<ClientPorts>;

/** Validates the answers before they are stored. A worker that found an invalid answer could only fail the turn. */
export async function readAnswers(
  counter: TokenCounter,
  answers: Readonly<Record<string, CallAnswer>>,
): Promise<Map<string, StoredAnswer>> {
  const stored = new Map<string, StoredAnswer>();
  for (const [call, { hash, by, ...given }] of Object.entries(parseInput(answersSchema, answers, 'answers'))) {
    const answer = 'approved' in given ? given : readResult(given, `answers.${call}`);
    const json = JSON.stringify(answer);
    checkBytes(json, `answers.${call}`);
    const kind = 'approved' in answer ? 'approval' : 'tools';
    const result = 'approved' in answer ? describeUnused(answer) : answer;
    const weight = { tokens: await countMessage(counter, result), bytes: bytesOfMessage(result) };
    const unused = kind === 'tools' ? weight : { ...weight, json: JSON.stringify(result) };
    stored.set(call, { for: kind, json, unused, verdict: readVerdict(answer), hash, by: by?.toWellFormed() });
  }
  return stored;
}

/** Copies the parts. A worker that found an unreadable part could only give the model an error. */
function readResult({ content, parts: given, isError }: Extract<Answer, { content: string }>, at: string): ToolOutput {
  const result = { content, ...(isError !== undefined && { isError }) };
  if (given === undefined) return result;
  const read = readResultParts(given, `${at}.parts`);
  if (read.status === 'read') return { ...result, parts: read.parts as readonly OutputPart[] };
  if (read.status === 'refused') throw fieldError('invalid_input', read.field, read.why);
  const why = 'expected texts, images and files, such as {type: "image", data, mediaType}';
  throw fieldError('invalid_input', `${at}.parts`, why);
}

type Answer = z.output<typeof answersSchema>[string];

/** Answers with the same verdict are the same decision, even if a person gives another reason. */
function readVerdict(answer: ToolOutput | Extract<Answer, { approved: boolean }>): string {
  if ('approved' in answer) return answer.approved ? 'approved' : 'denied';
  const { content, isError = false, parts } = answer;
  return hashPayload(parts === undefined ? [content, isError] : [content, isError, parts]);
}

function describeUnused({ approved, why }: Extract<Answer, { approved: boolean }>): ToolOutput {
  const content = approved
    ? 'No result: the call was approved, and the conversation continued before the result arrived. The outcome is unknown.'
    : `denied: ${why ?? 'the call was not approved'}`;
  return { content, isError: true };
}

type Refused = Extract<AnswerResult, { readonly call: string }>;

function refuseAnswer(turn: string, refused: Refused): TurnfoldError {
  const field = `answers.${refused.call}`;
  switch (refused.status) {
    case 'not_waiting': {
      const why = `turn ${turn} does not wait for this call. \`result\` returns the calls that the turn waits for`;
      return fieldError('conflict', field, why);
    }
    case 'other_call': {
      const why = `the hash does not belong to the call that turn ${turn} now has under this id. Read the call again with \`result\`, and answer with its hash`;
      return fieldError('conflict', field, why);
    }
    case 'unnamed_call': {
      const why =
        'the conversation was erased and created again, so this id may name an erased call. Name the call by its `hash`, which `result` returns';
      return fieldError('conflict', field, why);
    }
    case 'decided': {
      const { call, decision } = refused;
      const why = `${describe(decision)}. The first answer to the call ${call} counts. \`result\` returns the turn as it is now`;
      return fieldError('conflict', field, why, { details: { decision } });
    }
    case 'other_kind': {
      const awaited =
        refused.for === 'tools' ? 'its result: {content, parts?, isError?}' : 'a decision on it: {approved, why?}';
      return fieldError('invalid_input', field, `turn ${turn} waits for ${awaited}`, { details: { for: refused.for } });
    }
  }
}

function describe({ approved, at, by }: RecordedDecision): string {
  const verb = approved === undefined ? 'answered' : approved ? 'approved' : 'denied';
  const who = by === undefined ? '' : ` by ${by}`;
  return `the call was ${verb}${who} at ${new Date(at).toISOString()}`;
}
