import { answerMethods } from '../../src/api/client/answers.ts';
import { appendMethods } from '../../src/api/client/appends.ts';
import { enqueueMethods } from '../../src/api/client/enqueue.ts';
import { forkMethods } from '../../src/api/client/forks.ts';
import type { ClientPorts } from '../../src/api/client/ports.ts';
import { proposalMethods } from '../../src/api/client/proposals.ts';
import { turnMethods } from '../../src/api/client/turns.ts';
import { versionMethods } from '../../src/api/client/versions.ts';
import type { EnqueueInput } from '../../src/api/contract/enqueue-input.ts';
import { isTurnfoldError } from '../../src/domain/errors.ts';
import { nameConversation } from '../../src/domain/ids.ts';
import type { Message } from '../../src/domain/message.ts';
import type { Reason } from '../../src/domain/pass.ts';
import { noTracing } from '../../src/domain/tracing.ts';
import { requestPass } from '../../src/workers/pass-request.ts';
import { AGENT, ref } from './world.ts';

/** The work of one service. A service that dies is started again and repeats its work. */
export type Client = (ports: ClientPorts) => Promise<unknown>;

export const enqueue =
  (
    turn: string,
    {
      input = `Input of ${turn}.`,
      delayMs = 0,
      onBusy = 'enqueue',
      ...own
    }: Partial<Pick<EnqueueInput, 'input' | 'delayMs' | 'onBusy' | 'tools' | 'instructions'>> = {},
  ): Client =>
  (ports) =>
    enqueueMethods.enqueueTurn(ports, {
      conversation: ref.id,
      agent: AGENT,
      turn,
      input,
      onBusy,
      ...own,
      ...(delayMs > 0 && { delayMs }),
    });

export const append: Client = (ports) =>
  appendMethods.append(ports, {
    conversation: ref.id,
    agent: AGENT,
    operation: 'append',
    messages: [{ role: 'user', content: 'Appended.' }],
  });

export const answer =
  (turn: string, answers: Parameters<typeof answerMethods.answer>[3]): Client =>
  (ports) =>
    answerMethods.answer(ports, nameConversation(ref), turn, answers);

export const cancel =
  (turn: string): Client =>
  (ports) =>
    turnMethods.cancel(ports, nameConversation(ref), turn);

export const compact =
  (reason: Reason): Client =>
  (ports) =>
    requestPass({ ...ports, onEvent: () => undefined, tracing: noTracing }, ref, { reasons: [reason] });

/** Approves the named proposal, or the present one if there is one. */
export const approve =
  (proposal?: string): Client =>
  async (ports) => {
    const id = proposal ?? (await ports.proposals.readProposal(ref))?.proposal.id;
    if (id !== undefined) await proposalMethods.approve(ports, ref.id, id, { operation: 'approval' });
  };

/** Shows the whole log again, which ends a pass in progress. */
export const restoreAll: Client = (ports) =>
  versionMethods.restore(ports, ref.id, { version: 0, newer: 'keep', operation: 'restore' });

export const fork =
  (to: string): Client =>
  (ports) =>
    forkMethods.fork(ports, ref.id, to, { operation: 'fork' });

/** Accepts a coded refusal of the call. */
export const attempt =
  (client: Client): Client =>
  async (ports) => {
    try {
      await client(ports);
    } catch (error) {
      if (!isTurnfoldError(error) || isTurnfoldError(error, 'redis_unavailable')) throw error;
    }
  };

/** Writes ` word` so many times. One word is one token. */
export function words(count: number): string {
  return ' word'.repeat(count);
}

/** Reads messages written as `u20 a300`: a user message of 20 words, an assistant message of 300 words. */
export function talk(script: string): Message[] {
  return script
    .split(' ')
    .map((part) => ({ role: part.startsWith('u') ? 'user' : 'assistant', content: words(Number(part.slice(1))) }));
}
