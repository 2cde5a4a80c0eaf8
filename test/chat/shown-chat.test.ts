import { describe, expect, test } from 'vitest';
import { describeChat } from '../../src/chat/react/chat-view.ts';
import { findNextStep } from '../../src/chat/react/next-step.ts';
import { noteListed } from '../../src/chat/react/outbox.ts';
import { SessionStore } from '../../src/chat/react/session-state.ts';
import { mergeEarlier, mergeNewest, putAnswer, showLive, writeQuestion } from '../../src/chat/react/shown-messages.ts';
import type { OpenChatTurn, TransportMessage } from '../../src/chat/transport-types.ts';

function ask(id: string): TransportMessage {
  return writeQuestion(id, `question ${id}`);
}
function say(id: string, text = 'answer'): TransportMessage {
  return { id, role: 'assistant', parts: [{ type: 'text', text } as { type: string }] };
}
function open(messageId: string, change: Partial<OpenChatTurn> = {}): OpenChatTurn {
  return { turn: `${messageId}.1`, messageId, state: 'running', position: 0, ...change };
}
const idle = {
  isStale: false,
  messages: [],
  outbox: [],
  turns: [],
  ends: new Map(),
  loadedFor: new Set<string>(),
  news: 1,
};

describe('the next step of a page', () => {
  test('a page streams an open turn whose question it shows', () => {
    const turn = open('m1');
    expect(findNextStep({ ...idle, messages: [ask('m1')], turns: [turn] })).toEqual({ kind: 'stream', turn });
  });

  test('a page loads the messages once if it lacks the question of a running turn', () => {
    const facts = { ...idle, turns: [open('m1')] };
    expect(findNextStep(facts)).toEqual({ kind: 'load', turn: 'm1.1' });
    expect(findNextStep({ ...facts, loadedFor: new Set(['m1.1']) }).kind).toBe('stream');
  });

  test('a page loads the messages if it shows another attempt to answer the question', () => {
    const facts = { ...idle, messages: [ask('m1'), say('m1.1')], turns: [open('m1', { turn: 'm1.2' })] };
    expect(findNextStep(facts)).toEqual({ kind: 'load', turn: 'm1.2' });
  });

  test('a page rests at a wait for answers, and streams again once the wait is over', () => {
    const ends = new Map([['m1.1', { kind: 'waiting', news: 1 } as const]]);
    const facts = { ...idle, messages: [ask('m1')], ends };
    const waiting = { for: 'approval', until: 1, calls: [] } as const;
    expect(findNextStep({ ...facts, turns: [open('m1')] }).kind).toBe('rest');
    expect(findNextStep({ ...facts, turns: [open('m1', { waiting })], news: 2 }).kind).toBe('rest');
    expect(findNextStep({ ...facts, turns: [open('m1')], news: 3 }).kind).toBe('stream');
  });

  test('a page goes on to the next turn although an old list still has the settled one', () => {
    const next = open('m2', { text: 'next', state: 'queued', position: 1 });
    const ends = new Map([['m1.1', { kind: 'settled', news: 1 } as const]]);
    expect(findNextStep({ ...idle, ends, turns: [open('m1'), next] })).toEqual({ kind: 'stream', turn: next });
  });
});

describe('the messages of a page', () => {
  test('the newest page keeps earlier messages and the answer of an open turn', () => {
    const shown = { messages: [ask('m0'), say('m0.1'), ask('m1'), say('m1.1', 'so far')], before: '7' };
    const merged = mergeNewest(shown, { messages: [ask('m1')], before: '9' }, [open('m1')]);
    expect(merged).toEqual({ messages: shown.messages, before: '7' });
  });

  test('the newest page replaces all messages if it has none of them, because some may be missing between', () => {
    const page = { messages: [ask('m9'), say('m9.1')], before: '90' };
    expect(mergeNewest({ messages: [ask('m1')] }, page, [])).toEqual(page);
  });

  test('the newest page takes away an answer that was rolled back', () => {
    const shown = { messages: [ask('m1'), say('m1.1')] };
    expect(mergeNewest(shown, { messages: [ask('m1')] }, []).messages).toEqual([ask('m1')]);
  });

  test('an earlier page comes first, without messages that the page has', () => {
    const merged = mergeEarlier({ messages: [ask('m2')] }, { messages: [ask('m1'), ask('m2')], before: undefined });
    expect(merged.messages.map(({ id }) => id)).toEqual(['m1', 'm2']);
  });

  test('a further attempt takes the place of the attempt before', () => {
    const shown = putAnswer([ask('m1'), say('m1.1'), ask('m2')], say('m1.2'), 'm1');
    expect(shown.map(({ id }) => id)).toEqual(['m1', 'm1.2', 'm2']);
  });

  test('a stream that begins again does not shorten the text of the page', () => {
    const held = [ask('m1'), say('m1.1', 'One two')];
    expect(showLive(held, say('m1.1', 'One'), 'm1')).toBe(held);
    expect(showLive(held, say('m1.1', 'One two three'), 'm1').at(-1)).toEqual(say('m1.1', 'One two three'));
  });
});

describe('the view of a page', () => {
  function describeWith(change: Parameters<SessionStore<TransportMessage>['set']>[0]) {
    const store = new SessionStore<TransportMessage>();
    store.set({ phase: 'open', ...change });
    return describeChat(store.state, undefined);
  }
  const sent = { message: ask('m2'), onBusy: 'enqueue', state: 'sending' } as const;

  test('a message that is on its way stands with the messages, or in the queue behind an open turn', () => {
    expect(describeWith({ outbox: [sent] })).toMatchObject({ status: 'queued', messages: [{ id: 'm2' }], queue: [] });
    const busy = describeWith({ messages: [ask('m1')], turns: [open('m1')], outbox: [sent] });
    expect(busy).toMatchObject({ messages: [{ id: 'm1' }], queue: [{ id: 'm2', state: 'sending', position: 1 }] });
  });

  test('a message is shown once, although the outbox and the list of open turns have it', () => {
    const turns = [open('m1'), open('m2', { state: 'queued', position: 1, text: 'question m2' })];
    const view = describeWith({ messages: [ask('m1')], turns, outbox: [{ ...sent, state: 'accepted' }] });
    expect(view.queue).toEqual([{ id: 'm2', text: 'question m2', state: 'queued', position: 1, isScheduled: false }]);
  });

  test('a message that was removed from the queue does not come back from the outbox', () => {
    const turns = [open('m2', { state: 'queued', text: 'question m2' })];
    const outbox = noteListed([{ ...sent, state: 'accepted' }], turns);
    expect(describeWith({ outbox })).toMatchObject({ status: 'ready', messages: [], queue: [] });
  });

  test('a refused message stays in the queue with its reason', () => {
    const error = new Error('waiting');
    const view = describeWith({ outbox: [{ ...sent, state: 'refused', error }] });
    expect(view).toMatchObject({ status: 'ready', messages: [], queue: [{ id: 'm2', state: 'refused', error }] });
  });
});
