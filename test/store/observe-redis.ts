import type { Redis } from 'ioredis';
import type { ConversationRef } from '../../src/domain/ids.ts';
import type { TurnFailure, TurnState, WaitKind } from '../../src/domain/turn.ts';
import { decodeConversation, readOpenCalls } from '../../src/store/conversation-record.ts';
import type { ConversationKey, Keyspace } from '../../src/store/keys.ts';
import { decodeLogEntry } from '../../src/store/log.ts';
import { MAX_SEQ, RecordFields } from '../../src/store/records.ts';
import { decodeStep } from '../../src/store/turn-record.ts';
import { type Observation, type ObservedTurn, withoutTimes } from './observation.ts';
import { readLogTexts } from './read-log-texts.ts';

type Fields = Readonly<Record<string, string>>;

function fieldsOf(key: string, fields: Fields): RecordFields {
  return new RecordFields(key, new Map(Object.entries(fields)));
}

/** Lists the keys of a conversation's turns, as its index names them. */
export async function listTurnKeys(redis: Redis, keyspace: Keyspace, ref: ConversationRef): Promise<string[]> {
  const names = await redis.hkeys(keyspace.key(ref, 'ix'));
  return names.filter((name) => name.startsWith('t:')).map((name) => keyspace.turn(ref, name.slice(2)));
}

/** Reads the Redis keys of a conversation directly, not through operations of the store. */
export async function observeRedis(redis: Redis, keyspace: Keyspace, ref: ConversationRef): Promise<Observation> {
  const key = (kind: ConversationKey): string => keyspace.key(ref, kind);
  const [c, log, mailbox, txt, indexed, events, scores, listed, [seconds, micros]] = await Promise.all([
    redis.hgetall(key('c')),
    readLogTexts(redis, keyspace, ref),
    redis.lrange(key('mb'), 0, -1),
    redis.hgetall(key('txt')),
    listTurnKeys(redis, keyspace, ref),
    redis.xrange(key('ev'), '-', '+'),
    redis.zrange(keyspace.ready(keyspace.shardOf(ref)), 0, '-1', 'WITHSCORES'),
    redis.zrange(keyspace.waiting(keyspace.shardOf(ref)), 0, '-1'),
    redis.time(),
  ]);
  const prefix = keyspace.turn(ref, '');
  const turns = await Promise.all(
    indexed.map(async (name) => {
      const turn = name.slice(prefix.length);
      return [
        turn,
        observeTurn(await redis.hgetall(name), { input: txt[`i:${turn}`], own: txt[`o:${turn}`] }),
      ] as const;
    }),
  );
  const state = decodeConversation(fieldsOf(key('c'), c));
  const ready = readyOf(scores, ref);
  const { anchor } = state.size;
  return {
    shape: {
      mailbox,
      turns: Object.fromEntries(turns),
      ...(c['owner'] !== undefined && { owner: c['owner'] }),
      attempts: Number(c['attempts'] ?? 0),
      ...(c['wake'] !== undefined && { wake: c['wake'] }),
      ...(c['poisoned'] !== undefined && { poisonedTurn: c['poisoned'] }),
      openCalls: Object.fromEntries(
        readOpenCalls(fieldsOf(key('c'), c)).map(({ id, providerId = '' }) => [id, providerId]),
      ),
      log: observeLog(log),
      userMessages: state.turns,
      ...(anchor && { anchor: { seq: anchor.seq, tokens: anchor.tokens } }),
      texts: withPrefix(txt, 'x:'),
      ...(state.passId !== undefined && { passId: state.passId }),
      isSteered: state.isSteered === true,
      undo: (state.undo ?? []).flatMap(({ from, to }) => [from, to]),
      events: events.map(([, fields]) => withoutTimes(fields.filter((_, index) => index % 2 === 1).join(' '))),
      ready: Object.keys(ready).toSorted(),
      waiting: listed.flatMap((member) => {
        const [tenant, kind, id, turn] = member.split('|');
        return tenant === ref.tenant && id === ref.id ? [`${kind}|${turn}`] : [];
      }),
    },
    times: {
      now: Number(seconds) * 1000 + Math.floor(Number(micros) / 1000),
      epoch: Number(c['epoch'] ?? 0),
      ...(c['lease'] !== undefined && { lease: Number(c['lease']) }),
      ready,
    },
  };
}

function readyOf(scores: readonly string[], { tenant, id }: ConversationRef): Record<string, number> {
  const name = `${tenant}|${id}`;
  const found: Record<string, number> = {};
  for (let index = 0; index < scores.length; index += 2) {
    const member = scores[index] ?? '';
    const rest = member.slice(2);
    const score = Number(scores[index + 1]);
    if (rest === name) found[member.slice(0, 1)] = score;
    else if (rest.startsWith(`${name}|`)) found[`d|${rest.slice(name.length + 1)}`] = score;
  }
  return found;
}

function observeLog(log: Fields): Observation['shape']['log'] {
  return Object.keys(log)
    .map(Number)
    .toSorted((a, b) => a - b)
    .map((seq) => {
      const { message, turn, total } = decodeLogEntry(seq, log[String(seq)] ?? '', 'log');
      return {
        role: message.role,
        content: message.content,
        ...(message.toolCallId !== undefined && { toolCallId: message.toolCallId }),
        ...(turn !== undefined && { turn }),
        totalTokens: total.tokens,
        totalBytes: total.bytes,
      };
    });
}

interface TextsOfTurn {
  readonly input: string | undefined;
  readonly own: string | undefined;
}

function observeTurn(fields: Fields, { input, own: text }: TextsOfTurn): ObservedTurn {
  const { hasOwn, own: kept } = fields;
  const own = { isMarked: hasOwn !== undefined, ...(text && { text }), ...(kept && { kept }) };
  const { inputSeq, answerSeq, failure, canceledBy, waitFor, steeredInto, requests } = fields;
  const steps = Object.entries(withPrefix(fields, 's:')).map(([key, record]) => {
    const { at: _, ...step } = decodeStep(fieldsOf('t', fields), { key, record, head: MAX_SEQ });
    return [key, step] as const;
  });
  const suspensions = Object.entries(withPrefix(fields, 'suspended:')).map(
    ([step, count]) => [step, Number(count)] as const,
  );
  return {
    state: fields['state'] as TurnState,
    agent: fields['agent'] ?? '',
    hasInput: input !== undefined,
    ...(Object.keys(own).length > 1 || own.isMarked ? { own } : {}),
    ...(inputSeq !== undefined && { inputSeq: Number(inputSeq) }),
    ...(answerSeq !== undefined && { answerSeq: Number.parseInt(answerSeq, 10) }),
    ...(failure !== undefined && { failureCode: (JSON.parse(failure) as TurnFailure).code }),
    ...(canceledBy !== undefined && { canceledBy }),
    isSteering: 'steer' in fields,
    ...(steeredInto !== undefined && { steeredInto }),
    ...(requests !== undefined && { requests: requests.split(' ') }),
    steps: Object.fromEntries(steps),
    answers: withPrefix(fields, 'a:'),
    suspensions: Object.fromEntries(suspensions),
    ...(waitFor !== undefined && {
      waiting: {
        for: waitFor as WaitKind,
        step: fields['waitStep'] ?? '',
        calls: (fields['waitCalls'] ?? '')
          .split('\n')
          .flatMap((line) => (line === '' ? [] : (line.split(' ')[0] ?? ''))),
        isOver: 'waitFulfilled' in fields,
        isFulfilled: fields['waitFulfilled'] === '1',
      },
    }),
    inputTokens: Number(fields['inputTokens'] ?? 0),
    outputTokens: Number(fields['outputTokens'] ?? 0),
    requestTokens: (fields['requestTokens'] ?? '').split(' ').filter(Boolean).map(Number),
  };
}

function withPrefix(fields: Fields, prefix: string): Record<string, string> {
  return Object.fromEntries(
    Object.entries(fields)
      .filter(([field]) => field.startsWith(prefix))
      .map(([field, value]) => [field.slice(prefix.length), value]),
  );
}
