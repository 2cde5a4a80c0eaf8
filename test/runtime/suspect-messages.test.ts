import { deserialize, serialize } from 'node:v8';
import { expect, it } from 'vitest';
import { isTurnfoldError, TurnfoldError } from '../../src/domain/errors.ts';
import type { WorkerEvent } from '../../src/domain/events.ts';
import { packEvent, unpackEvent } from '../../src/host/suspect-messages.ts';
import { samples } from '../telemetry/sample-events.ts';

/** As a message between two processes does. */
function send(event: WorkerEvent): WorkerEvent {
  return unpackEvent(deserialize(serialize(packEvent(event))) as WorkerEvent);
}

it('every event of a worker stays the same when it is sent to another process', () => {
  for (const sample of Object.values(samples)) expect(send(sample)).toEqual(sample);
});

it('an error of turnfold keeps its code, its field and its details when an event is sent to another process', () => {
  const context = { field: 'redisUrl', details: { takesNoWrites: true } };
  const error = new TurnfoldError('redis_unavailable', 'Redis is down', context);
  const sent = send({ type: 'worker_failed', where: 'store', error });
  const received = sent.type === 'worker_failed' ? sent.error : undefined;
  expect(isTurnfoldError(received, 'redis_unavailable')).toBe(true);
  expect(received).toMatchObject({ ...context, message: 'Redis is down', stack: error.stack });
});

it.each([
  [Object.assign(new RangeError('too far'), { code: 'ERR_RANGE' }), { name: 'RangeError', code: 'ERR_RANGE' }],
  ['a text', { message: 'a text' }],
  [undefined, { message: 'undefined' }],
])('any thrown value can be sent to another process as the error of an event: %s', (error, expected) => {
  expect(send({ type: 'worker_failed', where: 'turn', error })).toMatchObject({ error: expected });
});
