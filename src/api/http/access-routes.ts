import { fieldError, isTurnfoldError } from '../../domain/errors.ts';
import { checkUnbound } from './caller.ts';
import { HttpProblem } from './problem.ts';
import type { Call, RouteHandlers, RouteServices } from './route.ts';

/**
 * Keys and webhooks of the caller's tenant. A name of another tenant's key or webhook counts as unknown (I19). A caller
 * that reaches only some conversations has none of these rights, whatever its scopes are.
 */
export const accessHandlers: RouteHandlers = {
  createAccessKey: async (call) => {
    const { tenant, service: keys } = open(call, 'keys');
    return { body: await keys.create({ ...call.body, tenant }) };
  },
  listAccessKeys: async (call) => {
    const { tenant, service: keys } = open(call, 'keys');
    return { body: { keys: await keys.list({ tenant }) } };
  },
  rotateAccessKey: async (call) => {
    const { service: keys } = open(call, 'keys');
    return { body: await nameKey(keys.rotate(await ownKey(call), call.body)) };
  },
  revokeAccessKey: async (call) => {
    const { service: keys } = open(call, 'keys');
    return { body: await keys.revoke(await ownKey(call)) };
  },
  rotateTokenSecret: async (call) => {
    const { tenant, service: keys } = open(call, 'keys');
    await keys.rotateTokenSecret({ tenant, ...call.body });
    return { body: { tenant } };
  },
  addWebhook: async (call) => {
    const { tenant, service: webhooks } = open(call, 'webhooks');
    return { body: await webhooks.add({ ...call.body, tenant }) };
  },
  listWebhooks: async (call) => {
    const { tenant, service: webhooks } = open(call, 'webhooks');
    return { body: { webhooks: await webhooks.list({ tenant }) } };
  },
  removeWebhook: async (call) => {
    const { service: webhooks } = open(call, 'webhooks');
    const webhook = await ownWebhook(call);
    await webhooks.remove(webhook);
    return { body: { webhook } };
  },
  retryWebhook: async (call) => {
    const { service: webhooks } = open(call, 'webhooks');
    return { body: await webhooks.retry(await ownWebhook(call)) };
  },
  testWebhook: async (call) => {
    const { service: webhooks } = open(call, 'webhooks');
    const webhook = await ownWebhook(call);
    return { body: await call.readers.run(call.request, (signal) => webhooks.test(webhook, { signal })) };
  },
};

type Services = Pick<RouteServices, 'keys' | 'webhooks'>;

function open<Name extends keyof Services>(
  call: Call,
  name: Name,
): { readonly tenant: string; readonly service: NonNullable<Services[Name]> } {
  const { caller } = call;
  checkUnbound(caller);
  const service = (call as Services)[name];
  if (service !== undefined) return { tenant: caller.tenant, service };
  const why = `the client of this server has no ${name}. Give createHttpApp a client of openClient`;
  throw new HttpProblem('not_offered', why, { field: name });
}

/** Names the field `key` in errors, as the path does. The client calls the same argument `id`. */
async function nameKey<Answer>(answering: Promise<Answer>): Promise<Answer> {
  return await answering.catch((error: unknown) => {
    if (!isTurnfoldError(error) || error.field !== 'id') throw error;
    throw fieldError(error.code, 'key', error.reason, { cause: error });
  });
}

async function ownKey(call: Call): Promise<string> {
  const { tenant, service: keys } = open(call, 'keys');
  const id = call.param('key');
  if ((await keys.list({ tenant })).some((key) => key.id === id)) return id;
  throw fieldError('not_found', 'key', `no access key ${id}`);
}

async function ownWebhook(call: Call): Promise<string> {
  const { tenant, service: webhooks } = open(call, 'webhooks');
  const id = call.param('webhook');
  if ((await webhooks.list({ tenant })).some((webhook) => webhook.id === id)) return id;
  throw fieldError('not_found', 'webhook', `no webhook ${id}`);
}
