import { Tag, type Tone } from '../parts/tag.tsx';
import type { ListedConversation } from '../shell/answers.ts';

const TONES: Readonly<Record<ListedConversation['state'], Tone>> = {
  idle: 'plain',
  queued: 'accent',
  running: 'good',
  waiting: 'warn',
  failed: 'bad',
};

/** State of a conversation, and what it waits for. */
export function StateTag({ row: { state, waitsFor, isForking } }: { readonly row: ListedConversation }) {
  return (
    <>
      <Tag tone={TONES[state]}>{waitsFor === undefined ? state : `waits for ${waitsFor}`}</Tag>{' '}
      {isForking === true && <Tag tone="note">forking</Tag>}
    </>
  );
}
