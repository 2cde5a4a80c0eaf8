import { describe, expectTypeOf, it } from 'vitest';
import type { OpenClient } from '../../src/api/client/index.ts';
import type { Authenticate, createProtocols, FrontEndOptions, HttpAppOptions } from '../../src/api/http/index.ts';
import { defineAgent } from '../../src/index.ts';
import { scriptedModel } from '../../src/providers/scripted.ts';

type Customer = { readonly user: string };

const model = scriptedModel({ steps: [] });
const agents = [
  defineAgent({ name: 'support', system: ({ user }: Customer) => `You help ${user}.`, model, tools: [], policy: {} }),
  defineAgent({ name: 'chat', system: 'You talk.', model, tools: [], policy: {} }),
];

describe('the client of HTTP routes', () => {
  it('createHttpApp and the protocols accept a client with typed agents', () => {
    type Typed = OpenClient<typeof agents>;
    expectTypeOf<{ authenticate: 'none'; client: Typed }>().toExtend<HttpAppOptions>();
    type Support = OpenClient<[{ name: 'support'; context: Customer }]>;
    expectTypeOf<{ authenticate: Authenticate; client: Support }>().toExtend<HttpAppOptions>();
    expectTypeOf<{ client: Support }>().not.toExtend<HttpAppOptions>();
    expectTypeOf<{ clientFor: () => Typed; agent: 'chat' }>().not.toExtend<FrontEndOptions>();
    expectTypeOf<{ client: Typed; agent: 'chat' }>().toExtend<Parameters<typeof createProtocols>[0]>();
    expectTypeOf<{ authenticate: 'none'; clientFor: () => Typed; agent: 'chat' }>().toExtend<FrontEndOptions>();
  });
});
