import { isTurnfoldError, TurnfoldError } from '../../domain/errors.ts';
import { parseInput } from '../../domain/parse.ts';
import { encodeBytes } from '../../domain/parts.ts';
import { isSettled, type TurnState } from '../../domain/turn.ts';
import type {
  DecisionView,
  EnqueueAnswer,
  EnqueuedTurn,
  EnqueueInput,
  TurnfoldClient,
  TurnView,
} from '../client/index.ts';
import type { Methods } from '../contract/client.ts';
import { STATE_HEADER } from '../contract/enqueue.ts';
import { turnListSchema } from '../contract/enqueue-input.ts';
import { followSchema, waitSchema } from '../contract/names.ts';
import { nameWrite, pause } from '../retries.ts';
import { readProblem } from './problem-error.ts';
import { newId, readFields, writeBody, writeRequest } from './requests.ts';
import { CutWait, type HttpAnswer, type Transport } from './transport.ts';

/** Longest wait of one request. Proxies often end a request after 30 or 60 s. */
const LONGEST_WAIT_MS = 20_000;
const SHORTEST_WAIT_MS = 1_000;
const EARLY_PAUSE_MS = 100;

export const httpTurnMethods = {
  enqueueTurn: async (http, input) => {
    const given = encodeParts(readFields(input));
    const answer = await http.send<NamedTurn>(writeRequest('enqueueTurn', [given]));
    // Nothing else knows an id that this call made. If the server has the turn, an earlier attempt stored it.
    return { ...readAccepted(answer), ...(given.turn === undefined && { isNew: true }) };
  },
  /** After `server_unavailable` and `redis_unavailable`, the server may have accepted some of the refused turns. */
  enqueueTurns: async (http, inputs) => {
    const given = parseInput(turnListSchema, inputs, 'turns') as EnqueueInput[]; // the server checks each turn
    const list = given.map(writeTurn);
    const sent = list.filter((turn): turn is SentTurn => 'json' in turn);
    const answers = (sent.length === 0 ? [] : await sendTurns(http, sent)).values();
    return list.flatMap((turn) => ('json' in turn ? (answers.next().value ?? []) : turn));
  },
  redrive: async (http, ...call) => readAccepted(await http.send<NamedTurn>(writeRequest('redrive', call))),
  result: async (http, name, turn, options = {}) => {
    const { waitMs = 0, signal } = parseInput(followSchema, options);
    const once = { ...writeRequest('showTurn', [name, turn]), signal };
    if (waitMs === 0) return (await http.send<TurnView>(once)).body;
    return await askUntil(waitMs, signal, async (askedMs) => {
      const call = writeRequest('result', [name, turn, { waitMs: askedMs }]);
      const { body } = await http.send<TurnView>({ ...call, signal, waitMs: askedMs });
      return { answer: body, isFinal: isSettled(body.state) };
    });
  },
  approve: (http, ...call) => decide(http, 'approve', ...call),
  reject: (http, ...call) => decide(http, 'reject', ...call),
} satisfies Methods<Transport>;

async function decide(
  http: Transport,
  verdict: 'approve' | 'reject',
  ...[name, proposal, input = {}]: Parameters<TurnfoldClient['approve'] | TurnfoldClient['reject']>
): Promise<DecisionView> {
  const { waitMs: given, operation = newId(), ...rest } = readFields(input);
  const waitMs = parseInput(waitSchema.default(0), given, 'waitMs');
  return await askUntil(waitMs, undefined, async (askedMs) => {
    const call = writeRequest(verdict, [name, proposal, { ...rest, operation, waitMs: askedMs }]);
    const { body } = await http.send<DecisionView>({ ...call, waitMs: askedMs });
    return { answer: body, isFinal: body.state !== 'pending' };
  });
}

function encodeParts<Input extends { readonly parts?: unknown }>(input: Input): Input {
  const { parts } = input;
  return Array.isArray(parts) ? { ...input, parts: parts.map(encodeBytes) } : input;
}

interface NamedTurn {
  readonly conversation: string;
  readonly turn: string;
}

function readAccepted({ body, tenant, headers }: HttpAnswer<NamedTurn>): EnqueuedTurn {
  return {
    tenant,
    conversation: body.conversation,
    turn: body.turn,
    state: headers.get(STATE_HEADER) as TurnState,
    isNew: headers.get('idempotency-replayed') !== 'true',
  };
}

/**
 * Repeats a request that waits, because one request waits for at most `LONGEST_WAIT_MS`. A proxy may cut a request that
 * waits. The next request then does not wait, so that an outage is noticed. The request after it waits half as long as
 * the cut one lasted, and later ones each twice as long as the one before.
 */
export async function askUntil<Answer>(
  waitMs: number,
  signal: AbortSignal | undefined,
  ask: (askedMs: number) => Promise<{ readonly answer: Answer; readonly isFinal: boolean }>,
): Promise<Answer> {
  const until = performance.now() + waitMs;
  let longestMs = LONGEST_WAIT_MS;
  let wasCut = false;
  for (;;) {
    signal?.throwIfAborted();
    const askedAt = performance.now();
    const askedMs = wasCut ? 0 : Math.min(Math.max(0, Math.ceil(until - askedAt)), longestMs);
    try {
      const { answer, isFinal } = await ask(askedMs);
      const now = performance.now();
      if (isFinal || now >= until) return answer;
      if (now - askedAt < askedMs / 2) await pause(EARLY_PAUSE_MS, signal);
      else if (!wasCut) longestMs = Math.min(2 * longestMs, LONGEST_WAIT_MS);
      wasCut = false;
    } catch (error) {
      if (!(error instanceof CutWait)) throw error;
      longestMs = Math.max(SHORTEST_WAIT_MS, Math.floor(Math.min(longestMs, error.lastedMs) / 2));
      wasCut = true;
    }
  }
}

interface SentTurn {
  readonly id: unknown;
  readonly isNamed: boolean;
  readonly json: string;
}

type TurnAnswer = Omit<EnqueuedTurn, 'tenant'> | { readonly problem: { readonly status: number } };

function writeTurn(input: EnqueueInput): SentTurn | EnqueueAnswer {
  try {
    const { turn: named, ...given } = readFields(input);
    const id = named ?? newId();
    return { id, isNamed: named !== undefined, json: writeBody({ ...encodeParts(given), turn: id }) };
  } catch (error) {
    if (isTurnfoldError(error)) return { status: 'refused', error };
    throw error;
  }
}

async function sendTurns(transport: Transport, sent: readonly SentTurn[]): Promise<EnqueueAnswer[]> {
  const body = `{"turns":[${sent.map(({ json }) => json).join(',')}]}`;
  try {
    const call = { method: 'POST', path: ['turns'], body, tenant: undefined } as const;
    const answer = await transport.send<{ turns: TurnAnswer[] }>(call);
    const { turns } = answer.body;
    if (turns?.length !== sent.length) {
      const why = `the server returned ${turns?.length ?? 0} answers for ${sent.length} turns`;
      throw new TurnfoldError('server_unavailable', `${why}. Repeat the call with the same turn ids`);
    }
    return turns.map((turn, at) => readAnswer(turn, answer.tenant, sent[at]?.isNamed === true));
  } catch (error) {
    if (!isTurnfoldError(error)) throw error;
    return sent.map(({ id }) => ({ status: 'refused', error: nameTurn(error, id) }));
  }
}

function readAnswer(answer: TurnAnswer, tenant: string, isNamed: boolean): EnqueueAnswer {
  if ('problem' in answer) return { status: 'refused', error: readProblem(answer.problem.status, answer.problem) };
  return { status: 'enqueued', tenant, ...answer, ...(!isNamed && { isNew: true }) };
}

/** After these errors, the server may have accepted the turns. */
const UNSURE: ReadonlySet<string> = new Set(['server_unavailable', 'redis_unavailable']);

function nameTurn(error: TurnfoldError, id: unknown): TurnfoldError {
  return typeof id === 'string' && UNSURE.has(error.code) ? nameWrite(error, { field: 'turn', id }) : error;
}
