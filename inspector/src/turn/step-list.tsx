import { useEffect, useState } from 'preact/hooks';
import type { TurnStepsAnswer } from '../../../src/api/contract/turn-steps.ts';
import type { Waiting } from '../../../src/domain/turn.ts';
import { counted, shortDuration, Time, Tokens } from '../parts/figures.tsx';
import { Tag } from '../parts/tag.tsx';
import type { RecordedStep } from '../shell/answers.ts';
import { followEvents, isOutage, type TurnfoldError } from '../shell/client.ts';
import { accessKey } from '../shell/key.tsx';
import { linkTo } from '../shell/router.ts';
import { ShownText } from '../version/shown-text.tsx';
import { addPart, type ShownCall, type ShownItem, type ShownStep, type TurnPart } from './turn-parts.ts';

interface TurnStream {
  readonly items: readonly ShownItem[];
  /** `lost`: the connection broke, and the page connects again. */
  readonly state: 'open' | 'lost' | 'ended';
  readonly error: TurnfoldError | undefined;
}

const START: TurnStream = { items: [], state: 'open', error: undefined };

/** Shows all parts that arrive within one frame together, because a long turn has thousands of parts. */
export function useTurnStream(conversation: string, turn: string, onChange: () => void): TurnStream {
  const [stream, setStream] = useState(START);
  const key = accessKey.value;
  useEffect(() => {
    const leaving = new AbortController();
    const { signal } = leaving;
    setStream(START);
    let items: readonly ShownItem[] = [];
    let frame: number | undefined;
    const show = (state: TurnStream['state'], error?: TurnfoldError): void => {
      if (frame !== undefined) cancelAnimationFrame(frame);
      frame = undefined;
      setStream({ items, state, error });
    };
    const onCut = (failure: TurnfoldError | undefined): void => {
      if (failure !== undefined && !isOutage(failure)) throw failure;
      show('lost');
    };
    const path = ['conversations', conversation, 'turns', turn, 'events'];
    const follow = async (): Promise<void> => {
      for await (const { type, data } of followEvents(path, signal, onCut)) {
        if (type === 'end') {
          show('ended');
          onChange();
          return;
        }
        items = addPart(items, { ...data, type } as TurnPart);
        frame ??= requestAnimationFrame(() => show('open'));
        if (!PIECES.has(type)) onChange();
      }
    };
    follow().catch((error: unknown) => show('ended', error as TurnfoldError));
    return () => {
      leaving.abort();
      if (frame !== undefined) cancelAnimationFrame(frame);
    };
  }, [conversation, turn, key]);
  return stream;
}

const PIECES = new Set(['text', 'reasoning', 'tool-call-start', 'tool-call-arguments', 'progress', 'data']);

interface StepListProps {
  readonly conversation: string;
  readonly items: readonly ShownItem[];
  readonly steps: TurnStepsAnswer | undefined;
}

type Times = ReadonlyMap<string, RecordedStep>;

export function StepList({ conversation, items, steps }: StepListProps) {
  const times: Times = new Map(steps?.steps.map((step) => [step.call ?? `step ${step.step}`, step]));
  return (
    <ol class="step-list">
      {items.map((item, index) => (
        <li key={item.kind === 'step' ? `step ${item.step}` : index} class={`step step-${item.kind}`}>
          <ShownItemView conversation={conversation} item={item} times={times} />
        </li>
      ))}
    </ol>
  );
}

const WAITS: Readonly<Record<Waiting['for'], string>> = {
  tools: 'results of tools',
  approval: 'a decision',
  compaction: 'a compaction',
  retry: 'the provider',
};

interface ItemProps {
  readonly conversation: string;
  readonly item: ShownItem;
  readonly times: Times;
}

function ShownItemView({ conversation, item, times }: ItemProps) {
  switch (item.kind) {
    case 'step':
      return <StepView step={item} times={times} />;
    case 'steering':
      return (
        <>
          <p class="step-head">
            <strong>Steering message</strong>
            <a href={linkTo('c', conversation, 't', item.turn)}>{item.turn}</a>
            <span class="soft number">#{item.seq}</span>
          </p>
          <ShownText text={item.content} />
        </>
      );
    case 'compaction':
      return (
        <p class="step-head">
          <strong>
            <a href={linkTo('c', conversation, 'v', item.version)}>Version {item.version}</a>
          </strong>
          <span>
            <Tokens value={item.tokensBefore} /> → <Tokens value={item.tokensAfter} unit=" tokens" />
          </span>
          <span class="soft number">{counted(item.archived, 'message')} archived</span>
        </p>
      );
    case 'wait':
      return (
        <p class="step-head">
          <strong>Wait for {WAITS[item.waiting.for]}</strong>
          <span class="soft">
            since <Time at={item.waiting.since} />, at most until <Time at={item.waiting.until} />
          </span>
        </p>
      );
  }
}

function StepView({ step, times }: { readonly step: ShownStep; readonly times: Times }) {
  return (
    <>
      <p class="step-head">
        <strong>Model call {step.step}</strong>
        <Recorded record={times.get(`step ${step.step}`)} />
      </p>
      {step.reasoning !== '' && (
        <details class="reasoning">
          <summary>Reasoning</summary>
          <ShownText text={step.reasoning} />
        </details>
      )}
      {step.text !== '' && <ShownText text={step.text} />}
      {step.calls.map((call) => (
        <CallView key={call.call} call={call} record={times.get(call.call)} />
      ))}
    </>
  );
}

function CallView({ call, record }: { readonly call: ShownCall; readonly record: RecordedStep | undefined }) {
  const { name, arguments: given, isPreview, progress, result } = call;
  return (
    <div class="call">
      <p class="step-head">
        <code>{name}</code>
        {isPreview && <Tag tone="note">writing</Tag>}
        {result === undefined && !isPreview && (
          <Tag tone="accent">{record?.status === 'started' ? 'running' : 'no result yet'}</Tag>
        )}
        {result?.isError === true && <Tag tone="bad">error</Tag>}
        {progress !== undefined && <ProgressNote {...progress} />}
        <Recorded record={record} />
        <code class="soft call-id">{call.call}</code>
      </p>
      <ShownText text={given} />
      {result !== undefined && (
        <div class="call-result">
          <p class="visually-hidden">Result</p>
          <ShownText text={result.content} />
        </div>
      )}
    </div>
  );
}

function ProgressNote({ text = '', done, total }: NonNullable<ShownCall['progress']>) {
  return (
    <span class="soft" role="status">
      {done !== undefined && total !== undefined && <progress value={done} max={total} />} {text}
    </span>
  );
}

function Recorded({ record }: { readonly record: RecordedStep | undefined }) {
  if (record === undefined) return null;
  const { at, tookMs, status } = record;
  return (
    <span class="soft step-time">
      {status === 'started' ? 'started ' : ''}
      <Time at={at} />
      {tookMs !== undefined && `, ${shortDuration(tookMs)}`}
    </span>
  );
}
