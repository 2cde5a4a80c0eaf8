import type { Refusals } from './refusal.ts';
import type { World } from './world.ts';

const KEY = { key: '0000000000000000' };
const WEBHOOK = { webhook: 'none' };

export function accessRefusals({ revokedKey }: World): Refusals {
  return {
    createAccessKey: [{ code: 'invalid_input', field: 'scopes', says: '?', body: { scopes: [] } }],
    rotateAccessKey: [
      { code: 'invalid_input', field: 'graceMs', says: '?', body: { graceMs: -1 } },
      { code: 'not_found', field: 'key', says: '?', params: KEY },
      { code: 'conflict', field: 'id', says: '?', params: { key: revokedKey } },
    ],
    revokeAccessKey: [
      { code: 'invalid_input', field: 'key', says: '?', params: { key: 'x' } },
      { code: 'not_found', field: 'key', says: '?', params: KEY },
    ],
    rotateTokenSecret: [{ code: 'invalid_input', field: 'graceMs', says: '?', body: { graceMs: -1 } }],
    addWebhook: [{ code: 'invalid_input', field: 'url', says: '?', body: { url: 'ftp://shop.example' } }],
    removeWebhook: [
      { code: 'invalid_input', field: 'webhook', says: '?', params: { webhook: 'a b' } },
      { code: 'not_found', field: 'webhook', says: '?', params: WEBHOOK },
    ],
    retryWebhook: [
      { code: 'invalid_input', field: 'webhook', says: '?', params: { webhook: 'a b' } },
      { code: 'not_found', field: 'webhook', says: '?', params: WEBHOOK },
    ],
    testWebhook: [
      { code: 'invalid_input', field: 'webhook', says: '?', params: { webhook: 'a b' } },
      { code: 'not_found', field: 'webhook', says: '?', params: WEBHOOK },
    ],
  };
}
