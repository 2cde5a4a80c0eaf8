import '../gauge/gauge.css';
import type { BreakdownAnswer } from '../../../src/api/contract/inspection.ts';
import { Find } from '../find/find.tsx';
import { ContextSide } from '../gauge/context-side.tsx';
import { Gauge } from '../gauge/gauge.tsx';
import { Loaded } from '../parts/loaded.tsx';
import type { Versions } from '../shell/answers.ts';
import { useConversation, useLiveAnswer } from '../shell/live-conversation.ts';
import { replaceSettings, settings } from '../shell/router.ts';
import { describeVersion, Timeline } from './timeline.tsx';
import { WorkDone } from './work-done.tsx';

const NONE: Versions['versions'] = [];

export function ContextPanel({ conversation }: { readonly conversation: string }) {
  const { description } = useConversation();
  const shown = readNumber('version');
  const breakdown = useLiveAnswer<BreakdownAnswer>(['conversations', conversation, 'breakdown'], { version: shown });
  const versions = useLiveAnswer<Versions>(['conversations', conversation, 'versions']);
  const kept = versions.value?.versions ?? NONE;
  return (
    <div class="context-panel">
      <Loaded answer={breakdown} what="the size of the context">
        {(value) => (
          <>
            <Gauge breakdown={value} />
            <ContextSide conversation={conversation} versions={kept} breakdown={value} />
          </>
        )}
      </Loaded>
      <WorkDone conversation={conversation} />
      <section class="context-log" aria-label="Timeline">
        <header class="timeline-head">
          <h2>Timeline</h2>
          {kept.length > 0 && <VersionChoice versions={kept} shown={shown} />}
          <p class="keys-hint">
            <kbd>j</kbd> <kbd>k</kbd> move, <kbd>Enter</kbd> opens
          </p>
        </header>
        {versions.value !== undefined && <Find conversation={conversation} versions={kept} />}
        {description !== undefined && !versions.isLoading && (
          <Timeline
            conversation={conversation}
            head={description.head}
            live={description.size.version}
            versions={kept}
            shown={shown}
            marked={readNumber('seq')}
          />
        )}
      </section>
    </div>
  );
}

function readNumber(name: string): number | undefined {
  const given = Number(settings.value.get(name) ?? '');
  return Number.isSafeInteger(given) && given > 0 ? given : undefined;
}

interface VersionChoiceProps {
  readonly versions: Versions['versions'];
  readonly shown: number | undefined;
}

function VersionChoice({ versions, shown }: VersionChoiceProps) {
  return (
    <label class="version-choice">
      as shown by
      <select
        value={shown === undefined ? '' : String(shown)}
        onChange={({ currentTarget }) => replaceSettings({ version: currentTarget.value })}
      >
        <option value="">the live context</option>
        {versions.toReversed().map((version) => (
          <option key={version.number} value={String(version.number)}>
            {describeVersion(version)}
          </option>
        ))}
      </select>
    </label>
  );
}
