import type { ConversationState } from '../domain/conversation.ts';

/**
 * Fields of `c:<id>`. Short where they are written on every step.
 *
 * schema agent · epoch owner lease attempts wake sweeps · head ht hb turns (log: last seq, its total tokens and bytes, user
 * messages) · version vt vb base bt bb (live version: its weight; the log's total up to its base) · as at av att atb (size
 * anchor: seq, tokens, version, log total) · ph pt (head and turns at the last end of a pass) · gs gg gb (gate: shut below,
 * passes without gain, breaker) · pass (id in progress) · lp lw lf (the pass that ended last, the turn wake that its end
 * brought, whether a turn waited) · o:<callId> (open call → provider's id or empty)
 */
export function decodeConversation(hash: ReadonlyMap<string, string>): ConversationState {
  const number = (field: string): number => Number(hash.get(field) ?? 0);
  const openCalls = [...hash]
    .filter(([field]) => field.startsWith('o:'))
    .map(([field, providerId]) => ({ id: field.slice(2), ...(providerId === '' ? {} : { providerId }) }));
  const passId = hash.get('pass');
  return {
    agent: hash.get('agent') ?? '',
    head: number('head'),
    turns: number('turns'),
    openCalls,
    size: {
      version: number('version'),
      weight: { tokens: number('vt'), bytes: number('vb') },
      baseTotal: { tokens: number('bt'), bytes: number('bb') },
      headTotal: { tokens: number('ht'), bytes: number('hb') },
      ...(hash.has('as')
        ? {
            anchor: {
              seq: number('as'),
              tokens: number('at'),
              version: number('av'),
              total: { tokens: number('att'), bytes: number('atb') },
            },
          }
        : {}),
    },
    passed: { head: number('ph'), turns: number('pt') },
    gate: { shutBelowTokens: number('gs'), gainlessPasses: number('gg'), breakerTokens: number('gb') },
    ...(passId === undefined || passId === '' ? {} : { passId }),
  };
}
