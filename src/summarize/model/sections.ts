import type { TokenCounter } from '../../wire/tokens/token-counter.ts';
import type { Speaker } from './log-quotes.ts';

const PEOPLE = ['user', 'system'] as const;
const SPEECH = [...PEOPLE, 'agent'] as const;
const ALL = [...SPEECH, 'call', 'result'] as const;

/**
 * Sections of a summary, in their order. Code writes the sections without `asks`.
 * - `asks` tells the model what to choose.
 * - `from` says whose words a section may hold, because no tool or file states a rule or the next step.
 */
export const SECTIONS = {
  goal: {
    heading: '## Goal',
    asks: 'the end that the user has in mind',
    from: PEOPLE,
  },
  requests: {
    heading: '## User requests',
    asks: 'every request of the user',
    from: PEOPLE,
  },
  constraints: {
    heading: '## Constraints',
    asks: 'permissions, refusals and rules of security, in the words of the user',
    from: PEOPLE,
  },
  decisions: {
    heading: '## Decisions',
    asks: 'every decision with its reason',
    from: SPEECH,
  },
  state: {
    heading: '## State',
    asks: 'finished work, unfinished work, and how things stand now',
    from: ALL,
  },
  facts: {
    heading: '## Facts',
    asks: 'findings that may be needed again: names, figures, ids, error texts',
    from: ALL,
  },
  effects: { heading: '## Side effects already done' },
  lines: { heading: '## Lines from the log' },
  failures: {
    heading: '## Failed attempts',
    asks: 'attempts that did not work, and why',
    from: ALL,
  },
  open: {
    heading: '## Open questions',
    asks: 'questions without an answer yet',
    from: SPEECH,
  },
  next: {
    heading: '## Next step',
    asks: 'the next thing that the agent was about to do',
    from: SPEECH,
  },
} as const satisfies Readonly<Record<string, { heading: string; asks?: string; from?: readonly Speaker[] }>>;

export type Section = keyof typeof SECTIONS;
export type Sections = ReadonlyMap<Section, string>;

const names = Object.keys(SECTIONS) as Section[];
const headings = new Map<string, Section>(names.map((name) => [SECTIONS[name].heading, name]));

export const ASKED_SECTIONS: readonly Section[] = names.filter((name) => 'asks' in SECTIONS[name]);

const HEADING_MARKS = /^[ \t]{0,3}#{1,6}[ \t]+/gm;

/** Joins sections. A body has no headings, so that it opens no section when the summary is read again. */
export function orderSections(bodies: ReadonlyMap<Section, string>): Sections {
  const read = names.map((name): [Section, string] => [
    name,
    (bodies.get(name) ?? '').replace(HEADING_MARKS, '').trim(),
  ]);
  return new Map(read.filter(([, written]) => written !== ''));
}

export function readSections(text: string): Sections {
  const bodies = new Map<Section, string>();
  let section: Section | undefined;
  for (const line of text.split('\n')) {
    const opened = headings.get(line.trim());
    if (opened !== undefined) section = opened;
    else if (section !== undefined && ASKED_SECTIONS.includes(section))
      bodies.set(section, `${bodies.get(section) ?? ''}${line}\n`);
  }
  return orderSections(bodies);
}

export function renderSections(sections: Sections): string {
  return names
    .flatMap((name) => (sections.has(name) ? [`${SECTIONS[name].heading}\n${sections.get(name)}`] : []))
    .join('\n');
}

/** Fits sections into a size. The smallest section gets the next line, so that no long list displaces the others. */
export function fitSections(
  counter: Pick<TokenCounter, 'countSync'>,
  sections: ReadonlyMap<Section, readonly string[]>,
  maxTokens: number,
): Sections {
  const open = [...sections].map(([name, lines]) => ({ name, lines, next: 0, tokens: 0, taken: [] as string[] }));
  let left = maxTokens;
  for (;;) {
    const [section] = open
      .filter(({ lines, next }) => next < lines.length)
      .toSorted((a, b) => a.tokens - b.tokens || a.next - b.next);
    if (section === undefined) break;
    const line = section.lines[section.next] as string;
    section.next += 1;
    const heading = section.taken.length === 0 ? counter.countSync(`${SECTIONS[section.name].heading}\n\n`) : 0;
    const tokens = counter.countSync(line) + 1;
    if (tokens + heading > left) continue;
    left -= tokens + heading;
    section.tokens += tokens;
    section.taken.push(line);
  }
  return orderSections(new Map(open.map(({ name, taken }) => [name, taken.join('\n')])));
}
