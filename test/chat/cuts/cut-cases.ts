import type { CutUser } from './cut-user.ts';

export interface CutCase {
  readonly name: string;
  readonly act: (user: CutUser) => Promise<void>;
}

const PIXEL =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const FILE = { type: 'file', mediaType: 'image/png', url: PIXEL, filename: 'pixel.png' } as const;
const LONG = 'a long story '.repeat(200);

const allow = () => ({ approved: true, by: 'ann' });
const deny = () => ({ approved: false, reason: 'too dear' });
const locate = () => ({ output: { at: 'home' } });

/** Holds a turn in the middle of its answer, and does something meanwhile. */
async function during(
  user: CutUser,
  act: () => Promise<unknown>,
  { word = 'hold', end = true }: { readonly word?: string; readonly end?: boolean } = {},
): Promise<void> {
  user.begin(`${word} ${user.gate}`);
  await user.sees('held 2');
  await act();
  if (end) user.openGate();
  await user.settle();
}

const message = (id: string, text: string) => ({ id, role: 'user' as const, parts: [{ type: 'text', text }] });

/** Chats as people lead them. Each ends with the page ready. */
export const CUT_CASES: readonly CutCase[] = [
  { name: 'a text', act: (user) => user.send('say a') },
  { name: 'a long text', act: (user) => user.send('say a 12') },
  { name: 'reasoning', act: (user) => user.send('think a') },
  { name: 'two questions', act: (user) => user.send('say a').then(() => user.send('say b')) },
  { name: 'a tool', act: (user) => user.send('call a look') },
  { name: 'a tool behind reasoning', act: (user) => user.send('think a look') },
  { name: 'three tools at once', act: (user) => user.send('call a look,look,look') },
  { name: 'two rounds of tools', act: (user) => user.send('call a look+look') },
  { name: 'a tool that fails', act: (user) => user.send('call a break') },
  { name: 'a tool that emits values', act: (user) => user.send('call a paint') },
  { name: 'a tool that does not exist', act: (user) => user.send('call a none') },
  { name: 'an approval that is allowed', act: (user) => user.send('call a book').then(() => user.answer(allow)) },
  { name: 'an approval behind reasoning', act: (user) => user.send('think a book').then(() => user.answer(allow)) },
  { name: 'an approval that is denied', act: (user) => user.send('call a book').then(() => user.answer(deny)) },
  { name: 'two approvals at once', act: (user) => user.send('call a book,book').then(() => user.answer(allow)) },
  {
    name: 'two approvals one after the other',
    act: async (user) => {
      let asked = 0;
      await user.send('call a book+book');
      await user.answer(() => (++asked === 1 ? allow() : deny()));
    },
  },
  { name: 'an approval beside a tool', act: (user) => user.send('call a look,book').then(() => user.answer(allow)) },
  { name: 'an approval by the next request', act: (user) => user.send('call a book').then(() => user.decide(true)) },
  { name: 'a denial by the next request', act: (user) => user.send('call a book').then(() => user.decide(false)) },
  { name: 'a tool in the page', act: (user) => user.send('call a locate').then(() => user.answer(locate)) },
  {
    name: 'a tool in the page that fails',
    act: (user) => user.send('call a locate').then(() => user.answer(() => ({ errorText: 'no signal' }))),
  },
  {
    name: 'an approval and a tool in the page',
    act: async (user) => {
      await user.send('call a book,locate');
      await user.answer((tool) => (tool === 'book' ? allow() : locate()));
    },
  },
  { name: 'a failure', act: (user) => user.send('fail a') },
  { name: 'a failure and another question', act: (user) => user.send('fail a').then(() => user.send('say b')) },
  { name: 'a model that breaks off', act: (user) => user.send('break a') },
  { name: 'a model that breaks off behind reasoning', act: (user) => user.send('waver a') },
  { name: 'a provider that is busy', act: (user) => user.send(`retry ${user.gate}`) },
  { name: 'a regenerated answer', act: (user) => user.send('say a').then(() => user.regenerate()) },
  {
    name: 'an edited question',
    act: async (user) => {
      await user.send('say a');
      await user.send('say b', { messageId: user.messages[0]?.id ?? '' });
    },
  },
  { name: 'a question with a picture', act: (user) => user.send('say a', { files: [FILE] }) },
  {
    name: 'a stop',
    act: async (user) => {
      await during(user, () => user.stop(), { end: false });
      user.openGate();
    },
  },
  {
    name: 'a stop behind reasoning',
    act: async (user) => {
      await during(user, () => user.stop(), { word: 'brood', end: false });
      user.openGate();
    },
  },
  {
    name: 'steering',
    act: async (user) => {
      const steer = () =>
        user.transport.acceptMessage({ chatId: user.id, message: message('s1', 'say s'), onBusy: 'steer' });
      await during(user, steer);
      await user.catchUp();
    },
  },
  {
    name: 'steering behind reasoning',
    act: async (user) => {
      const steer = () =>
        user.transport.acceptMessage({ chatId: user.id, message: message('s1', 'think s'), onBusy: 'steer' });
      await during(user, steer, { word: 'brood' });
      await user.catchUp();
    },
  },
  {
    name: 'a queue of two',
    act: async (user) => {
      const enqueue = () => user.transport.acceptMessage({ chatId: user.id, message: message('q1', 'say q') });
      await during(user, enqueue);
      await user.catchUp();
    },
  },
  {
    name: 'a compaction between two questions',
    act: async (user) => {
      await user.send(`say ${LONG}`);
      await user.send(`say ${LONG}`);
      await user.send('say c');
    },
  },
];
