import { afterAll, beforeAll, expect, test } from 'vitest';
import { compact, createTalker, type Fixture, openFixture, talk } from '../client/fixture.ts';
import { HOSTILE_TEXTS } from '../fakes/hostile-texts.ts';
import { takeShare } from '../setup/count-runs.ts';
import { expectFrugal } from '../setup/frugal.ts';
import { codedError } from './cases.ts';
import { callsOn, makeConversation } from './spoiled-conversation.ts';

const TIMEOUT_MS = 900_000;
const BYTES = 4_000_000;
const HOSTILE = '"<hostile>"';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture();
  await fixture.startWorkers([{ ...createTalker(), policy: { retentionWindow: 2, maxTokens: 2_000 } }]);
}, TIMEOUT_MS);
afterAll(() => fixture.close(), TIMEOUT_MS);

/** Writes a value that has the hostile JSON in a place. Undefined if the value has no such place. */
const PLACES: Readonly<Record<string, (value: string) => string | undefined>> = {
  alone: () => HOSTILE,
  'as a new member': (value) =>
    editJson(value, (json) => {
      if (Array.isArray(json)) json.push('<hostile>');
      else json['hostile'] = '<hostile>';
    }),
  'as its first member': (value) =>
    editJson(value, (json) => {
      if (Array.isArray(json)) json[0] = '<hostile>';
      else json[Object.keys(json)[0] ?? 'a'] = '<hostile>';
    }),
  'as its last member': (value) =>
    editJson(value, (json) => {
      if (Array.isArray(json)) json[json.length - 1] = '<hostile>';
      else json[Object.keys(json).at(-1) ?? 'a'] = '<hostile>';
    }),
};

type JsonParent = unknown[] | Record<string, unknown>;

function editJson(value: string, edit: (json: JsonParent) => void): string | undefined {
  const start = value.search(/[[{]/);
  if (start < 0) return undefined;
  try {
    const json = JSON.parse(value.slice(start)) as JsonParent;
    edit(json);
    return value.slice(0, start) + JSON.stringify(json);
  } catch {
    return undefined;
  }
}

/** Creates a conversation with messages, a version, a settled turn and a turn that waits. */
async function makeGrown(id: string): Promise<void> {
  const { client } = fixture;
  await client.append({ conversation: id, agent: 'talker', messages: talk(8) });
  await compact(fixture, id);
  expect((await client.versions(id)).length).toBeGreaterThan(0);
  await makeConversation(fixture, id);
}

interface Field {
  /** Name of the key without the id of the conversation. */
  readonly key: string;
  readonly type: string;
  /** Field of a hash, index of a list, or ''. */
  readonly name: string;
  readonly value: string;
}

async function listFields(id: string): Promise<Field[]> {
  const { redis } = fixture;
  const keys = (await redis.keys(`{tf*}:_:*:${id}*`)).toSorted();
  const fields = keys.map(async (key): Promise<Field[]> => {
    const type = await redis.type(key);
    const named = (name: string, value: string): Field => ({ key, type, name, value });
    switch (type) {
      case 'hash':
        return Object.entries(await redis.hgetall(key)).map(([name, value]) => named(name, value));
      case 'list':
        return (await redis.lrange(key, 0, -1)).map((value, at) => named(String(at), value));
      case 'string':
        return [named('', (await redis.get(key)) ?? '')];
      case 'stream': {
        const entries = await redis.xrange(key, '-', '+');
        return entries.map(([, kept]) => named(kept.join('\n'), kept.at(-1) ?? ''));
      }
      default:
        return [];
    }
  });
  return (await Promise.all(fields)).flat();
}

async function spoil({ key, type, name }: Field, from: string, to: string, value: string): Promise<void> {
  const { redis } = fixture;
  const place = key.replace(from, to);
  if (type === 'hash') await redis.hset(place, name, value);
  // Packing may have shortened the list meanwhile.
  else if (type === 'list') await redis.lset(place, Number(name), value).catch(() => redis.rpush(place, value));
  else if (type === 'stream') await redis.xadd(place, '*', ...name.split('\n').slice(0, -1), value);
  else await redis.set(place, value);
}

test(
  'hostile JSON of 4 MB in any record of a conversation blocks the event loop only briefly and takes little memory',
  async () => {
    const { client } = fixture;
    await makeGrown('model');
    const fields = await listFields('model');
    const cases = fields.flatMap((field) =>
      Object.entries(PLACES).flatMap(([place, write]) => {
        const value = write(field.value);
        return value === undefined ? [] : [{ field, place, value }];
      }),
    );
    expect(cases.length).toBeGreaterThan(100);
    for (const [at, { field, place, value }] of takeShare(cases).entries()) {
      const id = `spoiled-${at}`;
      await makeGrown(id);
      // The numbers of shapes and of places have no common divisor, so that each place meets each shape.
      const shape = HOSTILE_TEXTS[at % HOSTILE_TEXTS.length];
      const text = value.replace(HOSTILE, () => shape?.write(BYTES) ?? '');
      await spoil(field, 'model', id, text);
      const name = `${shape?.name} ${place} of ${field.key} ${field.name.slice(0, 40)}`;
      for (const [index, call] of callsOn(client, id, `fork-${at}`).entries()) {
        await expectFrugal(`call ${index} on ${name}`, text.length, () => codedError(call));
      }
    }
  },
  TIMEOUT_MS,
);
