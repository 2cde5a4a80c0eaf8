import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { expect, test } from 'vitest';
import { listParity, type Way, writeParity } from '../../scripts/parity-table.ts';
import { createClient } from '../../src/api/client/client.ts';
import type { ClientPorts } from '../../src/api/client/ports.ts';
import { operations } from '../../src/api/contract/client.ts';
import { openHttpClient } from '../../src/api/http-client/index.ts';
import { addAgentAndWorkerCommands, addCheckCommands, addOfflineCommands } from '../../src/cli/local-commands.ts';
import { addRedisCommands } from '../../src/cli/redis-commands.ts';
import { CommandRunner } from '../../src/cli/run-command.ts';

const rows = listParity();
const namesOf = (ways: readonly Way[]): string[] => ways.flatMap((way) => ('by' in way ? [way.by] : []));

function listMethods(client: object, prefix = ''): string[] {
  return Object.entries(client).flatMap(([name, member]: [string, unknown]) =>
    typeof member === 'function' ? [prefix + name] : listMethods(member as object, `${prefix}${name}.`),
  );
}

function listCommands(): string[] {
  const program = new Command('turnfold');
  const runner = new CommandRunner({} as ConstructorParameters<typeof CommandRunner>[0]);
  addRedisCommands(program, runner);
  addAgentAndWorkerCommands(program, runner);
  addCheckCommands(program, runner);
  addOfflineCommands(program, runner);
  return program.commands.flatMap((command) => [
    command.name(),
    ...command.commands.map((sub) => `${command.name()} ${sub.name()}`),
  ]);
}

test('docs/reference/parity.md is what the contract says (node scripts/write-parity.ts writes it)', () => {
  expect(readFileSync(new URL('../../docs/reference/parity.md', import.meta.url), 'utf8')).toBe(writeParity());
});

test('every method of both clients and every route is in the parity table, under a name that exists', () => {
  const redis = listMethods(createClient({} as ClientPorts));
  const http = openHttpClient({ url: 'http://127.0.0.1:1' });
  const { close: _, ...methods } = http;
  const named = new Set(namesOf(rows.map((row) => row.redis)));
  const plain = [...named].filter((name) => !name.includes('.'));
  expect(new Set(plain)).toEqual(new Set(redis));
  const overHttp = new Set(namesOf(rows.map((row) => row.http)));
  expect(listMethods(methods)).toEqual(expect.arrayContaining([...overHttp]));
  expect([...named].filter((name) => !overHttp.has(name))).toEqual(['keys.authenticate']);
  const routes = Object.values(operations).map(({ method, path }) => `${method.toUpperCase()} ${path}`);
  expect(new Set(namesOf(rows.map(({ route }) => route)))).toEqual(new Set(routes));
});

test('every command that the parity table names exists, and every hole has a reason', () => {
  const commands = new Set(listCommands());
  expect(namesOf(rows.map(({ command }) => command)).filter((name) => !commands.has(name))).toEqual([]);
  for (const { redis, http, route, command } of rows)
    for (const way of [redis, http, route, command]) if (!('by' in way)) expect(way.reason).toMatch(/\w+ \w+/);
});
