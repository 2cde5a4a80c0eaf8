import type { Ref } from 'preact';
import { Time, Tokens } from '../parts/figures.tsx';
import { Tag } from '../parts/tag.tsx';
import type { MessagePage } from '../shell/answers.ts';
import { linkTo } from '../shell/router.ts';
import { ShownText } from './shown-text.tsx';

type LogItem = MessagePage['items'][number];

const ROLES: Readonly<Record<LogItem['message']['role'], string>> = {
  system: 'System',
  user: 'User',
  assistant: 'Assistant',
  tool: 'Tool result',
  summary: 'Summary',
};

interface MessageViewProps {
  readonly conversation: string;
  readonly item: LogItem;
  readonly marks?: readonly string[] | undefined;
  readonly chosen?: string | undefined;
  readonly isChosen?: boolean;
  readonly ref?: Ref<HTMLElement>;
}

export function MessageView({ conversation, item, marks, chosen, isChosen = false, ref }: MessageViewProps) {
  const { from, tokens, at, turn, message } = item;
  const { role, content, toolCalls = [], isError = false, stopped = false, pinned = false } = message;
  return (
    <article
      {...(ref !== undefined && { ref })}
      class={`log-message log-message-${role}${isChosen ? ' is-chosen' : ''}`}
      tabIndex={-1}
      aria-label={`Message ${from}, ${ROLES[role]}`}
    >
      <header class="log-message-head">
        <span class="log-message-role">{ROLES[role]}</span>
        {isError && <Tag tone="bad">error</Tag>}
        {stopped && <Tag tone="warn">stopped</Tag>}
        {pinned && <Tag tone="warn">pinned</Tag>}
        <span class="number">#{from}</span>
        <span class="log-message-facts">
          {turn !== undefined && (
            <a href={linkTo('c', conversation, 't', turn)} title={`Turn ${turn}`}>
              turn
            </a>
          )}
          <Tokens value={tokens} unit=" tokens" />
          {at !== undefined && <Time at={at} />}
        </span>
      </header>
      {content !== '' && <ShownText text={content} marks={marks} chosen={chosen} />}
      {toolCalls.map(({ id, name, arguments: given }) => (
        <div key={id} class="call">
          <p class="call-name">
            <code>{name}</code>
          </p>
          <ShownText text={given} marks={marks} chosen={chosen} />
        </div>
      ))}
    </article>
  );
}
