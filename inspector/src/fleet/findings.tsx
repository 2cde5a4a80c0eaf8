import { Tag } from '../parts/tag.tsx';
import type { Fleet } from '../shell/answers.ts';

type Finding = Fleet['findings'][number];

/** Findings that need a person, the worst first. Checks that are well hide behind one line. */
export function Findings({ findings }: { readonly findings: readonly Finding[] }) {
  const troubles = [...findings.filter(isWrong), ...findings.filter(({ state }) => state === 'warning')];
  const good = findings.filter(({ state }) => state === 'ok');
  return (
    <section class="card fleet-findings" aria-label="Findings">
      <h2>Findings</h2>
      {troubles.length === 0 && (
        <p>
          <Tag tone="good">all well</Tag> No check finds a problem.
        </p>
      )}
      {troubles.length > 0 && (
        <ul class="fleet-list">
          {troubles.map((finding) => (
            <li key={finding.name}>
              <Tag tone={isWrong(finding) ? 'bad' : 'warn'}>{isWrong(finding) ? 'wrong' : 'warning'}</Tag>
              <div>
                <p class="plain-text">
                  <strong>{finding.name}</strong>: {finding.what}
                </p>
                {finding.remedy !== undefined && <p class="plain-text fleet-soft">{finding.remedy}</p>}
              </div>
            </li>
          ))}
        </ul>
      )}
      <details>
        <summary>{good.length} checks are well</summary>
        <ul class="fleet-good">
          {good.map(({ name, what }) => (
            <li key={name} class="plain-text">
              <strong>{name}</strong>: {what}
            </li>
          ))}
        </ul>
      </details>
    </section>
  );
}

function isWrong({ state }: Finding): boolean {
  return state === 'wrong';
}
