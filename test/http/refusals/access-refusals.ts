import { NO_PLACE } from './common-refusals.ts';
import type { Refusals } from './refusal.ts';
import type { World } from './world.ts';

const KEY = { key: '0000000000000000' };
const WEBHOOK = { webhook: 'none' };

export function accessRefusals({ revokedKey, webhook }: World): Refusals {
  return {
    createAccessKey: [
      { code: 'invalid_input', field: 'scopes', says: 'expected at least 1 item', body: { scopes: [] } },
    ],
    rotateAccessKey: [
      { code: 'invalid_input', field: 'graceMs', says: 'expected a number of at least 0', body: { graceMs: -1 } },
      { code: 'not_found', field: 'key', says: 'no access key 0000000000000000', params: KEY },
      {
        code: 'conflict',
        field: 'key',
        says: `access key ${revokedKey} is revoked. Create another key.`,
        params: { key: revokedKey },
      },
    ],
    revokeAccessKey: [
      {
        code: 'invalid_input',
        field: 'key',
        says: 'must be the id of an access key: 16 of 0-9 and a-f',
        params: { key: 'x' },
      },
      { code: 'not_found', field: 'key', says: 'no access key 0000000000000000', params: KEY },
    ],
    rotateTokenSecret: [
      { code: 'invalid_input', field: 'graceMs', says: 'expected a number of at least 0', body: { graceMs: -1 } },
    ],
    addWebhook: [
      {
        code: 'invalid_input',
        field: 'url',
        says: 'must be an https address, such as https://example.com/turnfold',
        body: { url: 'ftp://shop.example' },
      },
    ],
    removeWebhook: [
      { code: 'invalid_input', field: 'webhook', says: 'must match [A-Za-z0-9_.-]{1,128}', params: { webhook: 'a b' } },
      { code: 'not_found', field: 'webhook', says: 'no webhook none', params: WEBHOOK },
    ],
    testWebhook: [
      { code: 'invalid_input', field: 'webhook', says: 'must match [A-Za-z0-9_.-]{1,128}', params: { webhook: 'a b' } },
      { code: 'not_found', field: 'webhook', says: 'no webhook none', params: WEBHOOK },
      { ...NO_PLACE, params: { webhook } },
    ],
    retryWebhook: [
      { code: 'invalid_input', field: 'webhook', says: 'must match [A-Za-z0-9_.-]{1,128}', params: { webhook: 'a b' } },
      { code: 'not_found', field: 'webhook', says: 'no webhook none', params: WEBHOOK },
    ],
  };
}
