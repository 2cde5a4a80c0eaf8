import { existsSync, readdirSync, readFileSync } from 'node:fs';
import tab from '@bomb.sh/tab/commander';
import { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { enqueueSchema } from '../../src/api/contract/enqueue-input.ts';
import { addCommands } from '../../src/cli/command-line.ts';
import { processOutput } from '../../src/cli/output.ts';
import { CommandRunner } from '../../src/cli/run-command.ts';
import { ERROR_CODES } from '../../src/domain/errors.ts';
import { POLICY_DEFAULTS, policyInputSchema } from '../../src/domain/policy.ts';

const ROOT = new URL('../../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, ROOT), 'utf8');
const PAGES = readdirSync(new URL('docs', ROOT), { recursive: true, encoding: 'utf8' });
const DOCS = ['README.md', ...PAGES.filter((name) => name.endsWith('.md')).map((name) => `docs/${name}`)];

/** Anchors of headings, as GitHub creates them. */
function anchorsOf(text: string): Set<string> {
  const headings = [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => heading);
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replace(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}

/** Words between backticks in the first column of the table behind a heading. */
function firstColumn(text: string, heading: string): string[] {
  const [, section = ''] = text.split(new RegExp(`^#+ ${heading}.*$`, 'm'));
  const rows = (section.split(/^#/m)[0] ?? '').split('\n').filter((line) => line.startsWith('| `'));
  return rows.flatMap((row) => [...(row.split(' | ')[0] ?? '').matchAll(/`([^`]+)`/g)].map(([, word = '']) => word));
}

/** Fields of an interface, read from its source. */
function fieldsOf(path: string, name: string): string[] {
  const [, body = ''] = read(path).split(new RegExp(`^export interface ${name}\\b.*\\{$`, 'm'));
  const lines = (body.split(/^}/m)[0] ?? '').split('\n');
  return lines.flatMap((line) => /^ {2}(?:readonly )?(\w+)\??[:(]/.exec(line)?.[1] ?? []).toSorted();
}

test.each(DOCS)('the links of %s lead to existing targets', (path) => {
  const links = [...read(path).matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g)];
  for (const [link, target = '', anchor] of links) {
    const url = target === '' ? new URL(path, ROOT) : new URL(target, new URL(path, ROOT));
    expect(existsSync(url), link).toBe(true);
    if (anchor !== undefined) expect([...anchorsOf(readFileSync(url, 'utf8'))], link).toContain(anchor);
  }
});

test('docs/reference/cli.md has every command', () => {
  const program = new Command();
  addCommands(program, new CommandRunner(processOutput));
  const listed = firstColumn(read('docs/reference/cli.md'), 'Commands').map((words) => words.split(' ', 1)[0] ?? '');
  tab(program);
  expect(new Set(listed)).toEqual(new Set(program.commands.map((command) => command.name())));
});

describe('docs/reference/policy.md', () => {
  const listed = firstColumn(read('docs/reference/policy.md'), 'Settings');

  test('docs/reference/policy.md has every setting', () => {
    expect(listed.filter((name) => !name.includes('{')).toSorted()).toEqual(
      Object.keys(policyInputSchema.shape).toSorted(),
    );
  });

  test.each(Object.entries(POLICY_DEFAULTS))('docs/reference/policy.md shows the default of %s: %j', (name, value) => {
    const row = read('docs/reference/policy.md')
      .split('\n')
      .find((line) => line.startsWith('| `') && line.split(' | ')[0]?.includes(`\`${name}\``));
    const [, shown = ''] = row?.split(' | ') ?? [];
    const words: Readonly<Record<string, string>> = {
      reviewTtl: '7 days',
      pins: 'none',
      strategy: '`{min: [{evict: 0.6}, {retain: 10}]}`',
      budgetShares: '`{users: 0.2, summaries: 0.6}`',
    };
    expect(shown.replace(/^`(\w+)`$/, '$1')).toContain(words[name] ?? JSON.stringify(value).replaceAll('"', ''));
  });
});

describe('docs/reference/agents.md', () => {
  const listed = (heading: string): string[] => firstColumn(read('docs/reference/agents.md'), heading).toSorted();

  test('docs/reference/agents.md has every field of an agent and of a tool', () => {
    expect(listed('Agent$')).toEqual(fieldsOf('src/domain/agent.ts', 'Agent'));
    expect(listed('Tool$')).toEqual(fieldsOf('src/domain/agent.ts', 'Tool'));
  });

  test('docs/reference/agents.md has every option of a turn', () => {
    const always = ['agent', 'conversation', 'input'];
    expect([...listed('Turns$'), ...always].toSorted()).toEqual(Object.keys(enqueueSchema.shape).toSorted());
  });

  test('docs/reference/errors.md has every error code and where it occurs', () => {
    const kinds = ['caller', 'turn', 'service', 'worker'] as const;
    const [, ...sections] = read('docs/reference/errors.md').split(/^\| \| \*\*/m);
    const codes = sections.map((section) => [...section.matchAll(/^\| `(\w+)` /gm)].map(([, code = '']) => code));
    for (const [at, kind] of kinds.entries()) {
      const own = Object.entries(ERROR_CODES).filter(([, where]) => where === kind);
      expect(codes[at]?.toSorted(), kind).toEqual(own.map(([code]) => code).toSorted());
    }
  });
});
