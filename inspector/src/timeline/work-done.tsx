import type { ComponentChildren } from 'preact';
import type { WorkDoneAnswer } from '../../../src/api/contract/work-done.ts';
import { Ago, counted, exactNumber } from '../parts/figures.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { useLiveAnswer } from '../shell/live-conversation.ts';
import { linkToMessage } from '../shell/router.ts';

/** Files that are shown. The command line and the routes list more. */
const SHOWN_FILES = 5;

interface WorkProps {
  readonly conversation: string;
  readonly work: WorkDoneAnswer;
}

/** Shows what the agent did: files, tests, tasks and calls. Code reads all of it from the log. */
export function WorkDone({ conversation }: { readonly conversation: string }) {
  const answer = useLiveAnswer<WorkDoneAnswer>(['conversations', conversation, 'work-done']);
  return (
    <section class="card work" aria-label="What was done">
      <h2>What was done</h2>
      <Loaded answer={answer} what="what was done">
        {(work) => <Work conversation={conversation} work={work} />}
      </Loaded>
    </section>
  );
}

function Work(props: WorkProps) {
  const { calls, from } = props.work;
  if (calls.worked.count + calls.failed.count + calls.unanswered === 0)
    return <p class="work-empty">The agent has called no tool.</p>;
  return (
    <>
      {from > 1 && (
        <p class="work-empty">Messages before {exactNumber(from)} were not read, because the log is long.</p>
      )}
      <dl>
        <Files {...props} />
        <Tests {...props} />
        <Tasks {...props} />
        <Calls {...props} />
      </dl>
    </>
  );
}

function Row({ name, children }: { readonly name: string; readonly children: ComponentChildren }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

function Message({ conversation, seq }: { readonly conversation: string; readonly seq: number }) {
  return (
    <a class="work-place mono" href={linkToMessage(conversation, seq)} aria-label={`Message ${seq}`}>
      #{seq}
    </a>
  );
}

function Files({ conversation, work: { files } }: WorkProps) {
  if (files.count === 0) return null;
  const shown = files.last.slice(0, SHOWN_FILES);
  return (
    <Row name={counted(files.count, 'changed file')}>
      {shown.map(({ path, by, seq }) => (
        <p key={path} class="work-line">
          <bdi class="mono">{path}</bdi>
          <span class="work-soft">
            {by.map(({ name, count }) => (count > 1 ? `${name} ×${count}` : name)).join(', ')}
          </span>
          <Message conversation={conversation} seq={seq} />
        </p>
      ))}
      {files.count > shown.length && <p class="work-soft">and {exactNumber(files.count - shown.length)} more</p>}
    </Row>
  );
}

function Tests({ conversation, work: { tests } }: WorkProps) {
  if (tests === undefined) return null;
  return (
    <Row name="last tests">
      <p class="work-line">
        <bdi class="mono">{tests.call}</bdi>
        <span class="work-soft">
          <Ago at={tests.at} />
          {tests.isOld && ', before the last change'}
        </span>
        <Message conversation={conversation} seq={tests.seq} />
      </p>
      {tests.lines.map((line, at) => (
        <p key={`${at} ${line}`}>
          <bdi class="mono">{line}</bdi>
        </p>
      ))}
    </Row>
  );
}

function Tasks({ conversation, work: { tasks } }: WorkProps) {
  if (tasks === undefined) return null;
  const closed = tasks.list.filter(({ isClosed }) => isClosed).length;
  return (
    <Row name="tasks">
      <p class="work-line">
        <span>
          {closed} of {tasks.list.length} closed
        </span>
        <Message conversation={conversation} seq={tasks.seq} />
      </p>
      {tasks.list.map(({ text, status, isClosed }, at) => (
        <p key={`${at} ${text}`} class={isClosed ? 'work-line work-soft' : 'work-line'}>
          <bdi>{text}</bdi>
          <span class="work-soft">{status}</span>
        </p>
      ))}
    </Row>
  );
}

function Calls({ conversation, work: { calls } }: WorkProps) {
  const { worked, failed, unanswered } = calls;
  const open = unanswered === 0 ? '' : `, ${exactNumber(unanswered)} without a result`;
  const last = [...failed.last.slice(0, 3), ...worked.last.slice(0, 3)];
  return (
    <Row name="calls">
      <p>
        {exactNumber(worked.count)} worked, {exactNumber(failed.count)} failed{open}
      </p>
      {last.map(({ call, outcome, seq }) => (
        <p key={`${seq}${call}`} class="work-line">
          <bdi class="mono">{call}</bdi>
          <bdi class="work-soft">{outcome}</bdi>
          <Message conversation={conversation} seq={seq} />
        </p>
      ))}
    </Row>
  );
}
