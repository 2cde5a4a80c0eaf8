import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { Redis } from 'ioredis';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { addCommands } from '../../src/cli/command-line.ts';
import { processOutput } from '../../src/cli/output.ts';
import { CommandRunner } from '../../src/cli/run-command.ts';
import { policyInputSchema } from '../../src/domain/policy.ts';
import { SETTING_NAMES } from '../../src/host/config/settings.ts';
import { openOwnRedis } from '../cli/own-redis.ts';
import { listKnownMetrics } from './known-metrics.ts';
import { ALERTS } from './rule-files.ts';

const readFile = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const text = readFile('docs/runbook.md');
const [preface = '', ...sections] = text.split(/^### /m);
const entries = new Map(sections.map((section) => [section.split('\n', 1)[0] ?? '', section.split(/^## /m)[0] ?? '']));

/** `turnfold …` between backticks, in a container or not, or on a line of its own, its remark cut off. */
function listCommands(): string[] {
  const quoted = [...text.matchAll(/`(?:docker compose exec [\w-]+ |kubectl [^`]+ -- )?(turnfold [^`]+)`/g)].map(
    ([, command = '']) => command,
  );
  const lines = text.split('\n').filter((line) => line.startsWith('turnfold '));
  return [...quoted, ...lines].map((line) => line.replace(/\s+(#|>).*$/, '').trim());
}

/** The program, its actions replaced: what a command line means, without doing it. */
function parseCommand(line: string): void {
  const program = new Command('turnfold');
  addCommands(program, new CommandRunner(processOutput));
  disarm(program);
  program.parse(line.split(' ').slice(1), { from: 'user' });
}

function disarm(command: Command): void {
  command.exitOverride().configureOutput({ writeErr: () => undefined, writeOut: () => undefined });
  for (const child of command.commands) {
    if (child.commands.length === 0) child.action(() => undefined);
    disarm(child);
  }
}

describe('the runbook', () => {
  test('the runbook has the entry that each alert links to, and no other entries', () => {
    expect([...entries.keys()].toSorted()).toEqual(ALERTS.map(({ alert }) => alert).toSorted());
    for (const { alert, annotations } of ALERTS) {
      expect(annotations.runbook).toBe(`docs/runbook.md#${alert.toLowerCase()}`);
    }
  });

  test.each([...entries])(
    'the runbook entry %s explains the meaning, where to look and what to do',
    (_alert, entry) => {
      const parts = [...entry.matchAll(/^\*\*(\w+)\.\*\* \S/gm)].map(([, part]) => part);
      expect(parts).toEqual(['Means', 'Look', 'Do']);
    },
  );

  test('the runbook refers only to existing entries', () => {
    const named = [...text.matchAll(/Turnfold[A-Z]\w+/g)].map(([name]) => name);
    expect(named.filter((name) => !entries.has(name))).toEqual([]);
  });

  test('the runbook begins with turnfold doctor', () => {
    expect(preface).toContain('turnfold doctor');
  });

  test.each([...new Set(listCommands())])('the runbook names the existing command %s', (line) => {
    expect(() => parseCommand(line)).not.toThrow();
  });

  test('the runbook names existing services in its compose commands', () => {
    const services = Object.keys((parse(readFile('docker-compose.yml')) as { services: object }).services);
    const commands = [...text.matchAll(/`docker compose (\w+)\s*([^`]*)`/g)];
    expect(commands.length).toBeGreaterThan(5);
    for (const [command, verb, rest = ''] of commands) {
      expect(command).not.toContain('-f ');
      const named = verb === 'exec' ? rest.split(' ', 1) : [...rest.matchAll(/(?:^|[\s=])(redis|\w+-worker)\b/g)];
      for (const name of named.flat()) expect(services, command).toContain(name.trim().replace('=', ''));
    }
    expect(preface).toContain('`COMPOSE_FILE`');
  });

  test('Redis accepts every command that the runbook names', async () => {
    const commands = [...text.matchAll(/`redis-cli (\w[^`]*)`/g)].map(([, command = '']) => command.split(' '));
    expect(commands.length).toBeGreaterThan(3);
    const { url } = await openOwnRedis(); // they change its settings
    const redis = new Redis(url);
    for (const [name = '', ...args] of commands) await expect(redis.call(name, ...args)).resolves.toBeDefined();
    redis.disconnect();
  });

  test.each([
    ['turnfold mend', 'unknown command'],
    ['turnfold failed --oldest', 'unknown option'],
    ['turnfold redrive', 'missing required argument'],
    ['turnfold validate a.json', 'required option'],
  ])('the check of runbook commands reports %s', (line, why) => {
    expect(() => parseCommand(line)).toThrow(why);
  });

  test('the runbook names existing settings, metrics and policy fields', async () => {
    const settings = [...text.matchAll(/\b(TURNFOLD_[A-Z_]+)\b/g)].map(([, name]) => name);
    expect(settings.filter((name) => !SETTING_NAMES.includes(name as never))).toEqual([]);
    const known = await listKnownMetrics();
    const metrics = [...text.matchAll(/\b(turnfold_[a-z_]+)\b/g)].map(([, name = '']) => name);
    expect(metrics.filter((name) => !known.has(name) && !known.has(`${name}_count`))).toEqual([]);
    const fields = [...text.matchAll(/`([a-z]+[A-Z][A-Za-z]+)`/g)].map(([, name = '']) => name);
    expect(fields.filter((name) => !(name in policyInputSchema.shape))).toEqual([]);
    expect(settings.length * metrics.length * fields.length).toBeGreaterThan(0);
  });
});
