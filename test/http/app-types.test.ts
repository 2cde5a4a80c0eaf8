import { describe, expectTypeOf, it } from 'vitest';
import type { OpenClient } from '../../src/client/index.ts';
import type { createProtocols, FrontEndOptions, HttpAppOptions } from '../../src/http/index.ts';
import { defineAgent } from '../../src/index.ts';
import { scriptedModel } from '../../src/models/scripted.ts';

type Customer = { readonly user: string };

const model = scriptedModel({ steps: [] });
const agents = [
  defineAgent({ name: 'support', system: ({ user }: Customer) => `You help ${user}.`, model, tools: [], policy: {} }),
  defineAgent({ name: 'chat', system: 'You talk.', model, tools: [], policy: {} }),
];

describe('the client of HTTP routes', () => {
  it('createHttpApp and the protocols accept a client with typed agents', () => {
    type Typed = OpenClient<typeof agents>;
    expectTypeOf<{ client: Typed }>().toExtend<HttpAppOptions>();
    expectTypeOf<{ client: OpenClient<[{ name: 'support'; context: Customer }]> }>().toExtend<HttpAppOptions>();
    expectTypeOf<{ client: Typed; agent: 'chat' }>().toExtend<Parameters<typeof createProtocols>[0]>();
    expectTypeOf<{ clientFor: () => Typed; agent: 'chat' }>().toExtend<FrontEndOptions>();
  });
});
